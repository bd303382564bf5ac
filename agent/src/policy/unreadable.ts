// The records of a policy that cannot be read, or only in part. They are stored with the policy, so
// that they survive a restart.
import type { Fault } from '../faults.ts';
import { type NodeRecord, nameOf, unreadable } from './records.ts';

/** This many are reported one by one, and the number of the others. */
const maxShown = 20;

export class Unreadable {
  /** Faults by the record's name. */
  readonly #messages = new Map<string, string>();

  get size(): number {
    return this.#messages.size;
  }

  /** Notes an applied record: an `unreadable` one, or another, whose new state ends its fault. */
  note(record: NodeRecord): void {
    if (record.kind === 'unreadable') this.#messages.set(record.name, record.value.message);
    else if (this.#messages.size > 0) this.#forget(record);
  }

  /** The same faults as records, for an instance that starts empty. */
  *records(): Generator<NodeRecord> {
    for (const [name, message] of this.#messages) yield unreadable(name, message);
  }

  faults(): Fault[] {
    const faults = Array.from(this.#messages, ([subject, message]): Fault => {
      return { kind: 'record', subject, message: sentenceOf(subject, message) };
    });
    const others = faults.length - maxShown;
    if (others <= 0) return faults;
    const message = `${others} more records can't be read. They are left out; all others are in force.`;
    return [...faults.slice(0, maxShown), { kind: 'record', message }];
  }

  #forget(record: NodeRecord): void {
    const { kind } = record;
    this.#messages.delete(nameOf(record));
    if (kind === 'account') this.#forgetAll((name) => name.split(' ')[1] === `${record.account}`);
    const list = kind === 'authlist_cleared' ? 'authlist' : 'override';
    if (kind === 'authlist_cleared' || kind === 'overrides_cleared') {
      this.#forgetAll((name) => name.startsWith(`${list} ${record.account} `));
    }
  }

  #forgetAll(isIt: (name: string) => boolean): void {
    for (const name of this.#messages.keys()) if (isIt(name)) this.#messages.delete(name);
  }
}

function sentenceOf(name: string, message: string): string {
  const [kind, account, id] = name.split(' ');
  const of = account === undefined ? '' : ` of account ${account}`;
  return `The record ${kind}${id === undefined ? '' : ` ${id}`}${of} can't be read: ${message}. What can't be read is left out; all else is in force. Correct or remove it.`;
}
