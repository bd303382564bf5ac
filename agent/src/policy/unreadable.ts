// The records of a policy that cannot be read, or not wholly: kept with it, so that a restart knows them too.
import type { Fault } from '../faults.ts';
import { type NodeRecord, nameOf, unreadable } from './records.ts';

/** So many are told one by one; of the others how many there are. */
const mostTold = 20;

export class Unreadable {
  /** By the name of the record: what is wrong with it. */
  readonly #messages = new Map<string, string>();

  get size(): number {
    return this.#messages.size;
  }

  /** Takes a record that was applied: one of this kind, or another, whose new state ends what was wrong with it. */
  note(record: NodeRecord): void {
    if (record.kind === 'unreadable') this.#messages.set(record.name, record.value.message);
    else if (this.#messages.size > 0) this.#forget(record);
  }

  /** The same again, for another that begins without any. */
  *records(): Generator<NodeRecord> {
    for (const [name, message] of this.#messages) yield unreadable(name, message);
  }

  faults(): Fault[] {
    const faults = Array.from(this.#messages, ([subject, message]): Fault => {
      return { kind: 'record', subject, message: sentenceOf(subject, message) };
    });
    const others = faults.length - mostTold;
    if (others <= 0) return faults;
    const message = `${others} more records can't be read. They are left out; all others are in force.`;
    return [...faults.slice(0, mostTold), { kind: 'record', message }];
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
