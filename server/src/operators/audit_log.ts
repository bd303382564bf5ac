// Reading and searching the audit log: newest first; each page scans a limited number of records.
import { lastId } from '../changes/changes.ts';
import type { Database, Engine, Reader, Value } from '../db/database.ts';
import { folded, foldOf } from '../db/folded.ts';
import {
  type AuditConditions,
  accountId,
  auditFrom,
  auditSlice,
  auditWithin,
  type NamedAuditRecord,
  walked,
} from './store.ts';

/** Filters of records; every field narrows the result. */
export interface AuditFilter {
  account?: string | undefined;
  /** The whole name, with or without the account before it: `acme/alice`, `alice`. */
  actor?: string | undefined;
  /** Verbs and nouns: `override.create`, `authlist`. */
  actions?: readonly string[] | undefined;
  /** Each word occurs somewhere in the text that is shown of the record; A to Z in either case. */
  words?: readonly string[] | undefined;
  /** Epoch seconds: `since <= at < until`. */
  since?: number | undefined;
  until?: number | undefined;
  /**
   * Whether to show the address of every record, or only of those made by the account's own people
   * and tokens.
   */
  sees_all_addresses: boolean;
}

export interface AuditPage {
  records: NamedAuditRecord[];
  /** The id below which to continue; undefined at the end of the log. */
  before: number | undefined;
}

/**
 * How many slices a page scans at most. So a page of a search for rare records may be short, or
 * empty, before the end of the log.
 */
const slices = 20;
/** Ids are given in the order of time, by clocks that may differ by this much. */
const skewSeconds = 3600;

/**
 * The newest records below an id that match the filter, at most `limit`. `turn` resolves when the
 * next slice may be read.
 */
export async function searchAuditLog(
  db: Database,
  filter: AuditFilter,
  before: number | undefined,
  limit: number,
  turn: () => Promise<void>,
): Promise<AuditPage> {
  const { account, since, until } = filter;
  const account_id = account === undefined ? null : await accountId(db, account);
  const end: AuditPage = { records: [], before: undefined };
  if (account_id === undefined) return end;
  const conditions = conditionsOf(db.engine, filter, account_id);
  const least = since === undefined ? 0 : await firstIdOf(db, since - skewSeconds);
  let below = before ?? Number.MAX_SAFE_INTEGER;
  if (before === undefined && until !== undefined) below = await firstIdOf(db, until + skewSeconds);
  // If every record matches, only as many are read as the page has.
  const isNarrow = conditions.sql.length > (account_id === null ? 0 : 1);
  const sliceRows = isNarrow ? walked : limit + 1;
  const records: NamedAuditRecord[] = [];
  for (let remainingSlices = slices; remainingSlices > 0; remainingSlices--) {
    await turn();
    const { oldest, isLast } = await auditSlice(db, account_id, below, sliceRows);
    const wanted = limit + 1 - records.length;
    records.push(...(await auditWithin(db, conditions, Math.max(oldest, least), below, wanted)));
    if (records.length > limit) {
      return { records: records.slice(0, limit), before: records[limit - 1]?.id };
    }
    if (isLast || oldest <= least) return { records, before: undefined };
    below = oldest;
  }
  return { records, before: below };
}

function conditionsOf(
  engine: Engine,
  { actor, actions, words = [], since, until, sees_all_addresses }: AuditFilter,
  account_id: number | null,
): AuditConditions {
  const values: Value[] = [];
  const place = (value: Value) => `$${values.push(value)}`;
  const sql: string[] = [];
  if (account_id !== null) sql.push(`u.account_id = ${place(account_id)}`);
  if (since !== undefined) sql.push(`u.at >= ${place(since)}`);
  if (until !== undefined) sql.push(`u.at < ${place(until)}`);
  if (actor !== undefined) {
    sql.push(`(u.actor = ${place(actor)} or u.actor = a.name || '/' || ${place(actor)})`);
  }
  if (actions) sql.push(`(${actions.map((action) => isOfAction(action, place)).join(' or ')})`);
  const text = shownText(engine, sees_all_addresses, foldOf(words.join('')));
  // Both engines replace plain text, so no character of a word is a pattern.
  for (const word of words) sql.push(`replace(${text}, ${place(word)}, '') <> ${text}`);
  return { sql, values };
}

function isOfAction(action: string, place: (value: Value) => string): string {
  if (action.includes('.')) return `u.action = ${place(action)}`;
  return `substr(u.action, 1, ${action.length + 1}) = ${place(`${action}.`)}`;
}

/** The text that the reader is shown of a record, folded: hidden text cannot be found. */
function shownText(engine: Engine, sees_all_addresses: boolean, fold: string): string {
  const address = sees_all_addresses
    ? 'u.address'
    : "case when u.actor_kind in ('account', 'user') then u.address else '' end";
  const parts = [
    ...['u.action', 'u.target', 'u.actor', 'u.request_id', "coalesce(a.name, '')", address],
    ...["coalesce(u.before, '')", "coalesce(u.after, '')"],
  ];
  // By default PostgreSQL lowers the letters of a language, SQLite those of ASCII.
  return `${fold}((${parts.join(" || ' ' || ")})${engine === 'sqlite' ? '' : ' collate "C"'})`;
}

/**
 * The words of a search text, as they occur in `shownText`. A quote separates words, since JSON
 * escapes it.
 */
export function wordsOf(text: string): string[] {
  return [
    ...new Set(
      folded(text)
        .split(/[\s\p{Cc}"\\]+/u)
        .filter(Boolean),
    ),
  ];
}

/**
 * The id from which records are of that time or later, found in as many steps as an id has bits.
 */
async function firstIdOf(db: Reader, time: number): Promise<number> {
  let [low, high] = [0, (await lastId(db, 0, 'audit')) + 1];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const record = await auditFrom(db, middle);
    if (!record || record.at >= time) high = middle;
    else low = record.id + 1;
  }
  return high;
}
