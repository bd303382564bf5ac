// Names to addresses, by the name servers that the operator chose or those of the machine.
import { promises as dns, NODATA, type RecordWithTtl } from 'node:dns';
import type { Clock } from '../clock.ts';

interface Resolved {
  addresses: string[];
  /** Steady seconds. */
  until: number;
}

/** For all servers together, however many there are and however often each is asked. */
const patience_seconds = 5;
const timeout_ms = 1000;
const tries = 3;
/** A response is cached for as long as it says, and no longer than this: names follow their owners. */
const longest_seconds = 60;
const most_cached = 10_000;

export class Resolver {
  /**
   * Not getaddrinfo: of its four threads, which everything that reads or writes files shares, a few
   * names of slow servers would take all.
   */
  readonly #dns = new dns.Resolver({ timeout: timeout_ms, tries });
  readonly #clock: Clock;
  /** Oldest first. Names that were not found are asked again. */
  readonly #cached = new Map<string, Resolved>();

  /** `servers`: as in `1.1.1.1,[2620:fe::fe]:53`, in their order; none are those of the machine. */
  constructor(servers: string[], clock: Clock) {
    if (servers.length > 0) this.#dns.setServers(servers);
    this.#clock = clock;
  }

  /**
   * The addresses of a name, of one family; none when it has others alone. Undefined when it is not
   * there, or no server responds. They are not checked. Exactly the addresses that are checked must be dialled:
   * the next response may be another one.
   */
  async resolve(name: string, family: 4 | 6): Promise<string[] | undefined> {
    const key = `${family} ${name.toLowerCase()}`;
    const cached = this.#cached.get(key);
    if (cached && this.#clock.steady() < cached.until) return cached.addresses;
    this.#cached.delete(key);
    try {
      const records = await this.#ask(name, family);
      if (!records) return undefined;
      const ttl = Math.min(...records.map((record) => record.ttl), longest_seconds);
      const addresses = records.map(({ address }) => address);
      if (ttl > 0) this.#cache(key, { addresses, until: this.#clock.steady() + ttl });
      return addresses;
    } catch (error) {
      return (error as NodeJS.ErrnoException).code === NODATA ? [] : undefined;
    }
  }

  /** Undefined: no server responds in time. A response that comes later is of no use. */
  async #ask(name: string, family: 4 | 6): Promise<RecordWithTtl[] | undefined> {
    const over = new AbortController();
    const response =
      family === 4
        ? this.#dns.resolve4(name, { ttl: true })
        : this.#dns.resolve6(name, { ttl: true });
    const silence = this.#clock.sleep(patience_seconds, over.signal).then(() => undefined);
    try {
      return await Promise.race([response, silence]);
    } finally {
      over.abort();
    }
  }

  #cache(key: string, resolved: Resolved): void {
    this.#cached.set(key, resolved);
    if (this.#cached.size > most_cached)
      this.#cached.delete(this.#cached.keys().next().value as string);
  }
}
