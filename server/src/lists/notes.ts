// Notes: the purpose of a list's entry, and who added it when. Nodes and /v0 never see them.
import type { Actor, Transaction } from '../db/database.ts';

export interface Noted {
  /** Empty: none. */
  note: string;
  /** As in the audit log; null for entries older than notes. */
  added_by_kind: Actor['kind'] | null;
  added_by: string | null;
  /** Epoch seconds. */
  added_at: number | null;
}

export const noteColumns = ['note', 'added_by_kind', 'added_by', 'added_at'] as const;

/** For an entry that is added in this transaction. */
export function newNote({ actor: { kind, name }, now }: Transaction, note = ''): Noted {
  return { note, added_by_kind: kind, added_by: name, added_at: now };
}

/** The note of an entry that a removal keeps. */
export function noteOf(row: Partial<Noted>): Noted {
  const { note = '', added_by_kind = null, added_by = null, added_at = null } = row;
  return { note, added_by_kind, added_by, added_at };
}

/** The person whose name a pseudonym replaces, where entries say who added them. */
export interface ErasedAdder {
  account_id: number;
  id: number;
  /** The user as the audit log names it, and the pseudonym. */
  actor: string;
  pseudonym: string;
}

export const isAddedBy = ({ actor }: ErasedAdder, row: Partial<Noted>) =>
  row.added_by_kind === 'user' && row.added_by === actor;

/** Whether a change affects only the note. */
export const isOfNote = ({ note, ...rest }: object & { note?: string | undefined }) =>
  note !== undefined && Object.values(rest).every((value) => value === undefined);
