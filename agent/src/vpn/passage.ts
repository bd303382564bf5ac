// Detects whether the machine blocks the VPN's packets: another firewall may drop those that the
// VPN's own table accepts, and connection tracking may be full.
import { readIfThere } from './daemon.ts';
import type { Lack } from './machine.ts';

/** Bytes of new flows of clients since the table was created. */
export interface FlowBytes {
  /** Accepted by the VPN's own rules. */
  begun: number;
  /** Leaving the machine, after the rules of all other firewalls. */
  departed: number;
}

/** About ten first packets, so that a rule against a single destination is not a fault. */
const minLostBytes = 600;
/** Reported from this share on. When the table is full, the kernel drops packets of new flows. */
const maxConntrackUse = 0.95;
const conntrack = '/proc/sys/net/netfilter/nf_conntrack_';

export class Passage {
  #before: FlowBytes = { begun: 0, departed: 0 };
  #lostBytes = 0;

  /** Notes the flows since the last look; returns whether none leaves the machine any more. */
  isBlocked(flows: FlowBytes): boolean {
    const isNew = flows.begun < this.#before.begun || flows.departed < this.#before.departed;
    const before = isNew ? { begun: 0, departed: 0 } : this.#before;
    this.#before = flows;
    if (flows.departed > before.departed || isNew) this.#lostBytes = 0;
    else this.#lostBytes += flows.begun - before.begun;
    return this.#lostBytes >= minLostBytes;
  }
}

/** Connection tracking that is (nearly) full; undefined: it is not, or is not in use yet. */
export function findFullConntrack(): Lack | undefined {
  const [count, max] = ['count', 'max'].map((name) => Number(readIfThere(conntrack + name)));
  if (!count || !max || count < max * maxConntrackUse) return undefined;
  return {
    sentence: `connection tracking holds ${count} of ${max} flows, and refuses new ones when it is full`,
    remedy: `sysctl -w net.netfilter.nf_conntrack_max=${4 * max}, and in /etc/sysctl.d`,
  };
}
