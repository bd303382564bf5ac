// The faults of the node now: one list, for its own status and for the control plane, each with since when.

/** The words that programs decide by (docs/faults.md). */
export type FaultKind =
  | 'agent'
  | 'certificate'
  | 'clock'
  | 'control'
  | 'disk'
  | 'engine'
  | 'exit'
  | 'exit_address'
  | 'journal'
  | 'port'
  | 'record'
  | 'squid_log'
  | 'usage'
  | 'vpn';

export interface Fault {
  kind: FaultKind;
  /** Which of several: an address, a port, a file. */
  subject?: string;
  /** A sentence for people. */
  message: string;
}

export interface KnownFault extends Fault {
  /** Epoch seconds. */
  since: number;
}

/** The same fault again, whatever its sentence says of it now. */
const nameOf = ({ kind, subject = '' }: Fault) => `${kind} ${subject}`;

/** Sentences of one kind as faults. */
export function faultsOf(kind: FaultKind, messages: readonly string[] = []): Fault[] {
  return messages.map((message) => ({ kind, message }));
}

export class FaultList {
  #faults: KnownFault[] = [];

  /** Takes what is wrong now; what was so before keeps its time. */
  update(faults: readonly Fault[], now: number): KnownFault[] {
    const before = new Map(this.#faults.map((fault) => [nameOf(fault), fault.since]));
    this.#faults = faults.map((fault) => ({
      ...fault,
      since: Math.min(before.get(nameOf(fault)) ?? now, now),
    }));
    return this.#faults;
  }
}
