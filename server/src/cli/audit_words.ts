// The audit log as a person reads it: a head for each day, a sentence for each record.
import {
  auditDeed,
  type AuditRecord as Recorded,
  withoutMarks,
} from '../../../kit/src/audit_sentences.ts';
import { bytesInWords, secondsInWords, timeInWords } from '../../../kit/src/cli/values.ts';

export interface AuditRecord extends Recorded {
  at: number;
  actor_kind: string;
  actor: string;
  address: string | null;
  account: string | null;
}

/** The records, newest first: `11:12Z  operator first removed the server fra1`, by days. */
export function auditInWords(records: readonly AuditRecord[], hasAddresses: boolean): string {
  const days = Map.groupBy(records, ({ at }) => timeInWords(at).slice(0, 10));
  return Array.from(days, ([day, ofDay]) => {
    const lines = ofDay.map(
      (record) =>
        `${timeInWords(record.at).slice(11)}  ${sentenceOf(record)}${asideOf(record, hasAddresses)}`,
    );
    return `${[day, ...lines].join('\n')}\n`;
  }).join('\n');
}

function sentenceOf(record: AuditRecord): string {
  const { at, actor_kind, actor } = record;
  const who = ['user', 'account'].includes(actor_kind) ? actor : `${actor_kind} ${actor}`;
  const deed = auditDeed(record, {
    time: (seconds) => timeFrom(at, seconds),
    bytes: bytesInWords,
    duration: secondsInWords,
  });
  return `${who} ${withoutMarks(deed)}`;
}

/** The account, where neither the actor nor the target names it, and the address. */
function asideOf({ account, actor, target, address }: AuditRecord, hasAddresses: boolean): string {
  const isNamed = account === null || account === target || actor.startsWith(`${account}/`);
  const aside = [
    ...(isNamed ? [] : [`account ${account}`]),
    ...(hasAddresses && address ? [`from ${address}`] : []),
  ];
  return aside.length === 0 ? '' : ` (${aside.join(', ')})`;
}

/** Without the day, if it is the same. */
function timeFrom(at: number, time: number): string {
  const [day, clock] = timeInWords(time).split(' ');
  return timeInWords(at).startsWith(`${day} `) ? `${clock}` : timeInWords(time);
}
