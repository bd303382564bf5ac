// The current faults of the node, each with its start: one list, for the node's own status and for
// the control plane.

/** The codes that programs decide by (docs/faults.md). */
export type FaultKind =
  | 'agent'
  | 'certificate'
  | 'clock'
  | 'connection_log'
  | 'control'
  | 'disk'
  | 'engine'
  | 'exit'
  | 'exit_address'
  | 'firewall'
  | 'journal'
  | 'outdated'
  | 'port'
  | 'record'
  | 'squid_log'
  | 'usage'
  | 'vpn';

export interface Fault {
  kind: FaultKind;
  /** Which one of several: an address, a port, a file. */
  subject?: string;
  /** A sentence for people. */
  message: string;
}

export interface KnownFault extends Fault {
  /** Epoch seconds. */
  since: number;
}

/** Identifies a fault, even if its sentence changes. */
const nameOf = ({ kind, subject = '' }: Fault) => `${kind} ${subject}`;

/** Turns sentences of one kind into faults. */
export function faultsOf(kind: FaultKind, messages: readonly string[] = []): Fault[] {
  return messages.map((message) => ({ kind, message }));
}

export class FaultList {
  #faults: KnownFault[] = [];

  /** Replaces the faults by the current ones. Those that existed before keep their start. */
  update(faults: readonly Fault[], now: number): KnownFault[] {
    const before = new Map(this.#faults.map((fault) => [nameOf(fault), fault.since]));
    this.#faults = faults.map((fault) => ({
      ...fault,
      since: Math.min(before.get(nameOf(fault)) ?? now, now),
    }));
    return this.#faults;
  }
}
