// The audit log in sentences, in the words of the console.
import {
  type AuditRecord as AnyRecord,
  auditActions,
  auditDeed,
  differences as differencesOf,
  markedName,
  type ValueWords,
  withoutMarks,
} from '../../../kit/src/audit_sentences.ts';
import { actorName, bytes, dateTime } from '../format.ts';
import { duration } from '../forms/lifetimes.ts';

export type AuditRecord = AnyRecord & Parameters<typeof actorName>[0];

const words: ValueWords = { time: dateTime, bytes, duration };

/** A piece of a sentence; `isName`: of the actor, or of what was changed. */
export interface Piece {
  text: string;
  isName: boolean;
}

/** The record as a sentence, in pieces. */
export function auditPieces(record: AuditRecord): Piece[] {
  return `${markedName(actorName(record))} ${auditDeed(record, words)}.`
    .split(/(\u2068[^\u2069]*\u2069)/u)
    .filter(Boolean)
    .map((text) => ({ text: withoutMarks(text), isName: text[0] === '\u2068' }));
}

/** "alice added 203.0.113.7 to the authlist for ci, until …" */
export const auditSentence = (record: AuditRecord): string =>
  auditPieces(record)
    .map(({ text }) => text)
    .join('');

/** The fields before and after, in words. */
export const differences = (record: Pick<AnyRecord, 'before' | 'after'>) =>
  differencesOf(record, words);

const kinds: Record<string, string> = {
  authlist: 'Authlist',
  override: 'Custom DNS',
  user: 'Users',
  proxy_token: 'Proxy access tokens',
  session: 'Sign-ins',
  password: 'Sign-ins',
  second_factor: 'Sign-ins',
  api_token: 'API tokens',
  contract_server: 'Servers of the contract',
  account: 'Contract',
};

const network = 'Network';

/** All kinds of records of an account and of the network, for filters. */
export const accountKinds = [...new Set(Object.values(kinds))].sort();
export const networkKinds = [...accountKinds, network].sort();

/** The kind of an action, for filters. */
export function kindOf(action: string): string {
  return kinds[action.slice(0, action.indexOf('.'))] ?? network;
}

/** The action nouns of a kind, by which the server filters; none for an unknown kind. */
export function actionsOf(kind: string): string[] {
  const nouns = new Set(auditActions.map((action) => action.slice(0, action.indexOf('.'))));
  return [...nouns].filter((noun) => kindOf(`${noun}.`) === kind);
}
