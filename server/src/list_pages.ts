// Pages of a list: filtered, sorted by a value and then by id, each beginning behind the last row of the one before (keyset). A long
// list is read a slice of ids at a time, and of each slice only the rows that can be of the page leave the database.
import type { Reader, Value } from './db/database.ts';
import { liveSlices, type RemovableList } from './removed_ranges.ts';

/** Rows of which the first is looked for in one turn of the event loop. */
const sliceOfPage = 5000;

/** A place in a sorted list: behind the row that has this sort value and id. */
export interface Place {
  value: string | number;
  id: number;
}

export interface PageAsked<Sort extends string = string> {
  sort: Sort;
  isDescending: boolean;
  /** The page begins behind it; undefined: the first page. */
  after?: Place | undefined;
  limit: number;
}

/** A condition, and its values. */
interface Condition {
  sql: string;
  values: readonly Value[];
}

/** A list in SQL. `$1` is the account, `$2` and `$3` are ids; the values of the conditions come after them. */
export interface ListSql {
  list: RemovableList;
  /** The name of the list's row in all of it. */
  row: string;
  /** The list's table alone, and with all that is shown, filtered and sorted by. */
  table: string;
  tables: string;
  columns: string;
  /** Which rows are on the list, by its own columns. */
  shown: Condition;
  /** Which of them are asked for; undefined: all. */
  asked: Condition | undefined;
  /** The value that the page is sorted by; never null. */
  sort: string;
}

export type Sorted<R> = R & { id: number; sort_key: string | number };

/** A part of the list: how many rows are there and how many are asked for (of a first page), and those that come first. */
export interface PageSlice<R> {
  isLast: boolean;
  total: number;
  found: number;
  rows: Sorted<R>[];
}

export interface ListPage<R> {
  /** One more than the limit, where there is more. */
  rows: Sorted<R>[];
  total: number;
  found: number;
}

/** The slices that a page is made of. */
export async function* pageSlices<R>(
  db: Reader,
  account_id: number,
  sql: ListSql,
  { after, isDescending, limit }: Omit<PageAsked, 'sort'>,
): AsyncGenerator<PageSlice<R>, void, void> {
  const { list, row, table, tables, columns, shown, asked, sort } = sql;
  const onList = `${row}.account_id = $1 and ${row}.id > $2 and ${row}.id <= $3 and ${shown.sql}`;
  const wanted = asked ? `${onList} and ${asked.sql}` : onList;
  const place = (at: number) => `$${4 + shown.values.length + (asked?.values.length ?? 0) + at}`;
  const [direction, beyond] = isDescending ? ['desc', '<'] : ['asc', '>'];
  const isBeyond = after && `and (${sort}, ${row}.id) ${beyond} (${place(1)}, ${place(2)})`;
  const rowsStatement = `select ${columns}, ${sort} as sort_key from ${tables} where ${wanted} ${isBeyond ?? ''}
    order by sort_key ${direction}, ${row}.id ${direction} limit ${place(0)}`;
  const count = async (from: string, where: string, values: Value[]) => {
    const counted = `select count(*) as rows from ${from} where ${where}`;
    return (await db.one<{ rows: number }>(counted, values))?.rows ?? 0;
  };
  for await (const ids of liveSlices(db, list, account_id, sliceOfPage)) {
    const ofList = [account_id, ids.after, ids.to, ...shown.values];
    const ofWanted = [...ofList, ...(asked?.values ?? [])];
    const total = after ? 0 : await count(table, onList, ofList);
    const found = after || !asked ? total : await count(tables, wanted, ofWanted);
    const place = after ? [after.value, after.id] : [];
    const rows =
      after || found > 0
        ? await db.all<Sorted<R>>(rowsStatement, [...ofWanted, limit + 1, ...place])
        : [];
    yield { isLast: ids.isLast, total, found, rows };
  }
}

/** Makes a page of its slices. */
export async function pageFrom<R>(
  slices: AsyncIterable<PageSlice<R>>,
  { isDescending, limit }: Omit<PageAsked, 'sort'>,
): Promise<ListPage<R>> {
  const page: ListPage<R> = { rows: [], total: 0, found: 0 };
  const direction = isDescending ? -1 : 1;
  for await (const { rows, total, found } of slices) {
    page.total += total;
    page.found += found;
    page.rows = [...page.rows, ...rows]
      .sort((one, other) => direction * (order(one.sort_key, other.sort_key) || one.id - other.id))
      .slice(0, limit + 1);
  }
  return page;
}

/** As both databases do: numbers before texts. */
function order(one: string | number, other: string | number): number {
  if (typeof one !== typeof other) return typeof one === 'number' ? -1 : 1;
  return one < other ? -1 : one > other ? 1 : 0;
}

/** A text to search for as a pattern of `like … escape '\'`, which both databases compare without regard to case of a to z. */
export function containing(text: string): string {
  if (text === '') return '';
  const lower = text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
  return `%${lower.replace(/[\\%_]/g, '\\$&')}%`;
}
