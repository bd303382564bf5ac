// Limits the bytes that lines of Squid's log may claim, since an attacker with the rights of
// Squid's user can write any line. Each connection may claim what the kernel counted; beyond that,
// all lines together may claim what the machine carried.
import { readFileSync } from 'node:fs';
import type { Bytes } from './connection.ts';

/** The line of an ended connection comes at most this late (`longestWaitSeconds`). */
const windowSeconds = 660;
/** The interval between samples of the machine's count. */
const sampleSeconds = 10;
/** A request that reached an origin took a few packets, so lines of few bytes are charged this. */
const minChargeBytes = 256;
/** Assumed for the time before a reboot, whose count is lost: 100 Gbit/s. */
const plausibleBytesPerSecond = 12.5e9;
/** The longest step of the time: a clock that jumps must not end the window. */
const longestStepSeconds = 60;

/** The sentence for the operator. */
export const forgedFault =
  "Squid's log holds lines that Squid cannot have written; they are not billed. Squid's user may be taken over: see docs/faults.md.";

/** The counts at one time in the window. */
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
  /**
   * The machine's total count; undefined: the system does not provide it, and nothing is bounded.
   */
  #total: number | undefined;
  #claimed = 0;

  /** `carried`: the bytes that this machine has sent and received since it booted. */
  constructor(carried: () => number | undefined) {
    this.#carried = carried;
  }

  /** The machine's count when it was last read. */
  get carried(): number | undefined {
    return this.#total;
  }

  /**
   * Starts again with the lines after a cursor that is this many seconds old. They may claim what
   * the machine carried since it booted; if it booted after the cursor, also what a fast machine
   * can carry in that time. `then`: the count at the cursor; a restarted container counts from
   * zero although the boot is the same.
   */
  begin(seconds: number, isSameBoot: boolean, then = 0): void {
    const isSameCount = isSameBoot && then <= (this.#carried() ?? 0);
    const before = isSameCount ? 0 : (Math.max(0, seconds) + 60) * plausibleBytesPerSecond;
    this.#samples = [{ time: 0, carried: -before, claimed: 0 }];
    this.#time = 0;
    this.#now = undefined;
    this.#claimed = 0;
  }

  /** Reads what the machine has carried so far. `now`: epoch seconds. */
  look(now: number): void {
    this.#total = this.#carried();
    const step = Math.min(Math.max(now - (this.#now ?? now), 0), longestStepSeconds);
    this.#now = now;
    this.#time += step;
    const last = this.#samples.at(-1);
    if (last && this.#time - last.time >= sampleSeconds && this.#total !== undefined) {
      this.#samples.push({ time: this.#time, carried: this.#total, claimed: this.#claimed });
    }
    // The newest sample that is older than the window marks its beginning.
    while ((this.#samples[1]?.time ?? this.#time) < this.#time - windowSeconds) {
      this.#samples.shift();
    }
  }

  /**
   * Whether a line may claim these bytes of a connection, given what the kernel counted. The
   * difference is charged.
   */
  admit(claimed: Bytes, counted: Bytes): boolean {
    const [first] = this.#samples;
    if (this.#total === undefined || !first) return true;
    const beyond = Math.max(0, claimed.up - counted.up) + Math.max(0, claimed.down - counted.down);
    const charge = Math.max(beyond, minChargeBytes);
    const unclaimedBytes = this.#total - first.carried - (this.#claimed - first.claimed);
    if (charge > unclaimedBytes) return false;
    this.#claimed += charge;
    return true;
  }
}

/**
 * The IP bytes that this machine sent and received since it booted; undefined if the kernel does
 * not provide them. Each billed byte is in it at least twice: it was received, or made here, and
 * it was sent or refused.
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

/** Without IPv6 the file does not exist. */
function octetsOfIpv6(): number {
  try {
    const text = readFileSync('/proc/net/snmp6', 'latin1');
    const counters = text.matchAll(/^Ip6(?:In|Out)Octets\s+(\d+)$/gm);
    return [...counters].reduce((sum, [, octets]) => sum + Number(octets), 0);
  } catch {
    return 0;
  }
}
