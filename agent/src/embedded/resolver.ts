// Names to addresses, by the name servers that the operator chose or those of the machine.
import { promises as dns } from 'node:dns';
import type { Clock } from '../clock.ts';

interface Answer {
  addresses: string[];
  /** Steady seconds. */
  until: number;
}

const timeout_ms = 3000;
const tries = 2;
/** An answer is kept for as long as it says, and no longer than this: names follow their owners. */
const longest_seconds = 60;
const mostKept = 10_000;

export class Resolver {
  /**
   * Not getaddrinfo: of its four threads, which everything that reads or writes files shares, a few
   * names of slow servers would take all.
   */
  readonly #dns = new dns.Resolver({ timeout: timeout_ms, tries });
  readonly #clock: Clock;
  /** Oldest first. Names that were not found are asked again. */
  readonly #kept = new Map<string, Answer>();

  /** `servers`: as in `1.1.1.1,[2620:fe::fe]:53`, in their order; none are those of the machine. */
  constructor(servers: string[], clock: Clock) {
    if (servers.length > 0) this.#dns.setServers(servers);
    this.#clock = clock;
  }

  /**
   * The addresses of a name, of one family; none when it has none, or nobody answers. They are not
   * checked. What is checked of them must be what is dialled: the next answer may be another one.
   */
  async resolve(name: string, family: 4 | 6): Promise<string[]> {
    const key = `${family} ${name.toLowerCase()}`;
    const kept = this.#kept.get(key);
    if (kept && this.#clock.steady() < kept.until) return kept.addresses;
    this.#kept.delete(key);
    try {
      const records =
        family === 4
          ? await this.#dns.resolve4(name, { ttl: true })
          : await this.#dns.resolve6(name, { ttl: true });
      const ttl = Math.min(...records.map((record) => record.ttl), longest_seconds);
      const addresses = records.map(({ address }) => address);
      if (ttl > 0) this.#keep(key, { addresses, until: this.#clock.steady() + ttl });
      return addresses;
    } catch {
      return [];
    }
  }

  #keep(key: string, answer: Answer): void {
    this.#kept.set(key, answer);
    if (this.#kept.size > mostKept) this.#kept.delete(this.#kept.keys().next().value as string);
  }
}
