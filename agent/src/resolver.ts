// Resolves names to addresses, with the operator's name servers or those of the machine.
import {
  CONNREFUSED,
  promises as dns,
  NODATA,
  NOTFOUND,
  type RecordWithTtl,
  TIMEOUT,
} from 'node:dns';
import { isDeepStrictEqual } from 'node:util';
import type { Clock } from './clock.ts';
import type { Failure } from './failures.ts';
import { machineNameServers } from './name_servers.ts';

export type NameFailure = Extract<Failure, 'unresolved' | 'no_name_server'>;

/** No server was reached, or none responded in time. */
const unreached: ReadonlySet<string> = new Set([TIMEOUT, CONNREFUSED]);
/** Codes with which a server answers about a name. Others are failures of the server itself. */
const conclusive: ReadonlySet<string> = new Set([NODATA, NOTFOUND]);

interface Resolved {
  addresses: string[];
  /** Steady seconds. */
  until: number;
}

/** For all servers together, with all repetitions. */
const patienceSeconds = 5;
const timeoutMs = 1000;
const tries = 3;
/** Responses are cached for their TTL, but not longer than this, so that changes take effect. */
const longestSeconds = 60;
const maxCached = 10_000;

export class Resolver {
  /**
   * Not getaddrinfo: its four threads are shared with all file access, and a few names with slow
   * servers would block them all.
   */
  #dns = new dns.Resolver({ timeout: timeoutMs, tries });
  readonly #isOfMachine: boolean;
  readonly #clock: Clock;
  /** Oldest first. Names that were not found are not cached. */
  readonly #cached = new Map<string, Resolved>();

  /** `servers`: such as `1.1.1.1,[2620:fe::fe]:53`, in order; if empty, those of the machine. */
  constructor(servers: string[], clock: Clock) {
    this.#isOfMachine = servers.length === 0;
    if (!this.#isOfMachine) this.#dns.setServers(servers);
    this.#clock = clock;
  }

  /** Uses the machine's current name servers; if they changed, clears the cache. */
  followMachine(): void {
    if (!this.#isOfMachine || isDeepStrictEqual(machineNameServers(), this.#dns.getServers())) {
      return;
    }
    this.#dns = new dns.Resolver({ timeout: timeoutMs, tries });
    this.#cached.clear();
  }

  /**
   * The addresses of a name in one family; empty if it has none. The caller must check them, and
   * dial exactly those that it checked: the next response may have others. `unresolved`: the name
   * does not exist, or its own servers fail. `no_name_server`: none of ours responds.
   */
  async resolve(name: string, family: 4 | 6): Promise<string[] | NameFailure> {
    const key = `${family} ${name.toLowerCase()}`;
    const cached = this.#cached.get(key);
    if (cached && this.#clock.steady() < cached.until) return cached.addresses;
    this.#cached.delete(key);
    try {
      const records = await this.#ask(name, family);
      if (!records) return 'no_name_server';
      const ttl = Math.min(...records.map((record) => record.ttl), longestSeconds);
      const addresses = records.map(({ address }) => address);
      if (ttl > 0) this.#cache(key, { addresses, until: this.#clock.steady() + ttl });
      return addresses;
    } catch (error) {
      const { code = '' } = error as NodeJS.ErrnoException;
      if (code === NODATA) return [];
      return unreached.has(code) ? 'no_name_server' : 'unresolved';
    }
  }

  /** Undefined: no server responds in time. A later response is ignored. */
  async #ask(name: string, family: 4 | 6): Promise<RecordWithTtl[] | undefined> {
    const over = new AbortController();
    const silence = this.#clock.sleep(patienceSeconds, over.signal).then(() => undefined);
    try {
      return await Promise.race([this.#askUntilKnown(name, family), silence]);
    } finally {
      over.abort();
    }
  }

  /**
   * Node asks the next server only if one is silent. A server that fails, or refuses this machine,
   * would hide the others, so they are asked here.
   */
  async #askUntilKnown(name: string, family: 4 | 6): Promise<RecordWithTtl[]> {
    const ask = (resolver: dns.Resolver) =>
      family === 4
        ? resolver.resolve4(name, { ttl: true })
        : resolver.resolve6(name, { ttl: true });
    const servers = this.#dns.getServers();
    let asking = ask(this.#dns);
    for (const server of servers.length > 1 ? servers : []) {
      const code = await codeOf(asking);
      if (code === undefined || conclusive.has(code)) break;
      const resolver = new dns.Resolver({ timeout: timeoutMs, tries: 1 });
      resolver.setServers([server]);
      asking = ask(resolver);
    }
    return asking;
  }

  #cache(key: string, resolved: Resolved): void {
    this.#cached.set(key, resolved);
    if (this.#cached.size > maxCached)
      this.#cached.delete(this.#cached.keys().next().value as string);
  }
}

/** The code with which a promise is rejected; undefined: it is not. */
function codeOf(promise: Promise<unknown>): Promise<string | undefined> {
  return promise.then(
    () => undefined,
    ({ code = '' }: NodeJS.ErrnoException) => code,
  );
}
