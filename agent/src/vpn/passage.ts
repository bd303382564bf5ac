// Whether the machine lets the VPN's packets pass: another firewall may drop what the VPN's own
// table let through, and connection tracking may be full.
import { readIfThere } from './daemon.ts';
import type { Lack } from './machine.ts';

/** Bytes of new flows of clients, since the table is there. */
export interface FlowBytes {
  /** Let through by the VPN's own rules. */
  begun: number;
  /** Seen on their way out, after the rules of all others. */
  departed: number;
}

/** About ten first packets: a rule that refuses one destination is no fault. */
const minLostBytes = 600;
/** Once the table is full, the kernel drops each packet of a new flow. */
const maxConntrackUse = 0.95;
const conntrack = '/proc/sys/net/netfilter/nf_conntrack_';

export class Passage {
  #before: FlowBytes = { begun: 0, departed: 0 };
  #lostBytes = 0;

  /** Notes what passed since the last look; returns whether nothing leaves the machine any more. */
  isBlocked(flows: FlowBytes): boolean {
    const isNew = flows.begun < this.#before.begun || flows.departed < this.#before.departed;
    const before = isNew ? { begun: 0, departed: 0 } : this.#before;
    this.#before = flows;
    if (flows.departed > before.departed || isNew) this.#lostBytes = 0;
    else this.#lostBytes += flows.begun - before.begun;
    return this.#lostBytes >= minLostBytes;
  }
}

/** Connection tracking that is full, or nearly; undefined: it is not, or there is none yet. */
export function findFullConntrack(): Lack | undefined {
  const [count, max] = ['count', 'max'].map((name) => Number(readIfThere(conntrack + name)));
  if (!count || !max || count < max * maxConntrackUse) return undefined;
  return {
    sentence: `connection tracking holds ${count} of ${max} flows, and refuses new ones when it is full`,
    remedy: `sysctl -w net.netfilter.nf_conntrack_max=${4 * max}, and in /etc/sysctl.d`,
  };
}
