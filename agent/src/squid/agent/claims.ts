// A bound on what the lines of Squid's log may claim, since whoever takes over Squid's user can write any: per connection what
// the kernel counted, and beyond that, all lines together, what the machine carried.
import { readFileSync } from 'node:fs';
import type { Bytes } from './connection.ts';

/** A line of a connection that ended comes so late at most, see `longest_wait_seconds` of connections.ts. */
const window_seconds = 660;
/** Samples of the machine's count are kept so far apart. */
const sample_seconds = 10;
/** A request that reached an origin is some packets at least: so also lines of a few bytes are bounded. */
const least_charge_bytes = 256;
/** Of the time before a machine was started anew, whose count is gone: 100 Gbit/s. */
const plausible_bytes_per_second = 12.5e9;
/** A clock that jumps must not end the window. */
const longest_step_seconds = 60;

/** Told to the operator. */
export const forgedFault =
  "Squid's log holds lines that Squid cannot have written; they are not billed. Squid's user may be taken over: see docs/faults.md.";

/** The counts at a time of the window. */
interface Sample {
  time: number;
  carried: number;
  claimed: number;
}

export class Claims {
  readonly #carried: () => number | undefined;
  #samples: Sample[] = [];
  #time = 0;
  #now: number | undefined;
  /** The machine's count, in all; undefined: it does not say, and nothing is bounded. */
  #total: number | undefined;
  #claimed = 0;

  /** `carried`: the bytes that this machine has sent and received since it was started. */
  constructor(carried: () => number | undefined) {
    this.#carried = carried;
  }

  /** The machine's count, as it was looked at last. */
  get carried(): number | undefined {
    return this.#total;
  }

  /**
   * Begins anew with the lines after a cursor, of so many seconds: they may claim what the machine carried since its
   * start; when that came after the cursor, also what a fast machine can carry in that time. `then`: the count at the
   * cursor. A container that is started anew counts anew, on the same machine.
   */
  begin(seconds: number, isSameBoot: boolean, then = 0): void {
    const isSameCount = isSameBoot && then <= (this.#carried() ?? 0);
    const before = isSameCount ? 0 : (Math.max(0, seconds) + 60) * plausible_bytes_per_second;
    this.#samples = [{ time: 0, carried: -before, claimed: 0 }];
    this.#time = 0;
    this.#now = undefined;
    this.#claimed = 0;
  }

  /** Looks at what the machine carried by now. Epoch seconds. */
  look(now: number): void {
    this.#total = this.#carried();
    const step = Math.min(Math.max(now - (this.#now ?? now), 0), longest_step_seconds);
    this.#now = now;
    this.#time += step;
    const last = this.#samples.at(-1);
    if (last && this.#time - last.time >= sample_seconds && this.#total !== undefined) {
      this.#samples.push({ time: this.#time, carried: this.#total, claimed: this.#claimed });
    }
    // One that is older than the window is where the window begins.
    while ((this.#samples[1]?.time ?? this.#time) < this.#time - window_seconds) {
      this.#samples.shift();
    }
  }

  /** Whether a line may claim so many bytes of a connection, of which the kernel counted these. It is charged for the rest. */
  admit(claimed: Bytes, counted: Bytes): boolean {
    const [first] = this.#samples;
    if (this.#total === undefined || !first) return true;
    const beyond = Math.max(0, claimed.up - counted.up) + Math.max(0, claimed.down - counted.down);
    const charge = Math.max(beyond, least_charge_bytes);
    const unclaimedBytes = this.#total - first.carried - (this.#claimed - first.claimed);
    if (charge > unclaimedBytes) return false;
    this.#claimed += charge;
    return true;
  }
}

/**
 * The bytes that this machine sent and received by IP since it was started; undefined where the kernel does not tell. Each byte that
 * a proxy bills is in it twice at least: it came from one side, or was made here, and went to the other, or was not taken.
 */
export function carriedBytes(): number | undefined {
  try {
    const [names = [], values = []] = readFileSync('/proc/net/netstat', 'latin1')
      .split('\n')
      .filter((line) => line.startsWith('IpExt: '))
      .map((line) => line.split(' '));
    const ipv4 = ['InOctets', 'OutOctets'].map((name) => Number(values[names.indexOf(name)]));
    const sum = ipv4.reduce((all, octets) => all + octets, octetsOfIpv6());
    return Number.isFinite(sum) ? sum : undefined;
  } catch {
    return undefined;
  }
}

/** Without IPv6 there is no such file. */
function octetsOfIpv6(): number {
  try {
    const text = readFileSync('/proc/net/snmp6', 'latin1');
    const counters = text.matchAll(/^Ip6(?:In|Out)Octets\s+(\d+)$/gm);
    return [...counters].reduce((sum, [, octets]) => sum + Number(octets), 0);
  } catch {
    return 0;
  }
}
