// Pages of a list: filtered, sorted by a value and then by id, each beginning after the last row of
// the previous one (keyset). A long list is read a slice of ids at a time, and only rows that can
// be on the page leave the database.
import type { Reader, Value } from '../db/database.ts';
import { folded, foldOf } from '../db/folded.ts';
import type { Ids } from '../db/slices.ts';
import { invalidField } from '../errors.ts';

/** How many rows are read in one turn of the event loop. */
const sliceOfPage = 10_000;

/** A place in a sorted list: after the row with this sort value and id. */
export interface Place {
  value: string | number;
  id: number;
}

export interface PageRequest<Sort extends string = string> {
  sort: Sort;
  isDescending: boolean;
  /** The page begins after it; undefined: the first page. */
  after?: Place | undefined;
  limit: number;
}

/** Errors: 400 for a place that is not one of this list in this order. */
export const noPlace = () =>
  invalidField(
    'after',
    'is no place in the list; expected one of the Link of a response, with the same sort.',
  );

/** A sort order: a value that is never null, and the tables that it needs. */
export interface SortKey {
  sql: string;
  /** The type of its values; those of addresses depend on the database. */
  type: 'number' | 'text' | 'address';
  join: string;
}

export const byNumber = (sql: string, join = ''): SortKey => ({ sql, type: 'number', join });
export const byText = (sql: string, join = ''): SortKey => ({ sql, type: 'text', join });
export const byAddress = (ip: string): SortKey => ({
  sql: `ip_order(${ip})`,
  type: 'address',
  join: '',
});

/** A condition in SQL, and its values. */
interface Condition {
  sql: string;
  values: readonly Value[];
}

/** A filter with these values, and with extra conditions. Undefined: none of them is given. */
export function filterOf(
  sql: string,
  values: readonly Value[],
  ...conditions: ReadonlyArray<string | undefined>
): Condition | undefined {
  const extra = conditions.filter((condition) => condition !== undefined);
  if (extra.length === 0 && values.every((value) => value === '' || value === 0)) return undefined;
  return { sql: [sql, ...extra].join(' and '), values };
}

/** A list in SQL. `$1` and `$2` are the ids of a slice; the conditions' values come after them. */
export interface ListSql {
  /** The slices of its ids, with a given number of rows each. */
  slices: (rows: number) => AsyncIterable<Ids>;
  /** The alias of a row of the list's table in all parts. */
  row: string;
  /** The text after `from`: the list's table, and the tables that conditions and sort need. */
  from: string;
  /** The columns of the few rows of a page, and the tables that are joined for them. */
  columns: string;
  joins: string;
  /** Which rows are on the list. */
  shown: Condition;
  /** Which of them match; undefined: all. */
  filter: Condition | undefined;
  sort: SortKey;
}

export type Sorted<R> = R & { id: number; sort_key: string | number };

/** How many rows are on the list, and how many of them match; on a first page only. */
interface Counts {
  total: number;
  found: number;
}

/** A part of the list, and its rows that come first. */
export interface PageSlice<R> extends Counts {
  isLast: boolean;
  rows: Sorted<R>[];
}

export interface ListPage<R> extends Counts {
  /** One more than the limit, if there are more. */
  rows: Sorted<R>[];
}

/** The slices that make up a page. Errors: 400 for a place whose value does not fit the sort. */
export async function* pageSlices<R>(
  db: Reader,
  sql: ListSql,
  { after, isDescending, limit }: Omit<PageRequest, 'sort'>,
): AsyncGenerator<PageSlice<R>, void, void> {
  const { slices, row, from, columns, joins, shown, filter } = sql;
  const { sql: sort, type } = sql.sort;
  const isNumber = typeof after?.value === 'number';
  if (after && type !== 'address' && isNumber !== (type === 'number')) throw noPlace();
  const onList = `${row}.id > $1 and ${row}.id <= $2 and ${shown.sql}`;
  const wanted = filter ? `${onList} and ${filter.sql}` : onList;
  const count = 2 + shown.values.length + (filter?.values.length ?? 0);
  const [direction, beyond] = isDescending ? ['desc', '<'] : ['asc', '>'];
  const isBeyond = after ? `and (${sort}, ${row}.id) ${beyond} ($${count + 2}, $${count + 3})` : '';
  const inOrder = `order by sort_key ${direction}, ${row}.id ${direction}`;
  const rowsStatement = `select ${columns} from (select ${row}.*, ${sort} as sort_key from ${from}
      where ${wanted} ${isBeyond} ${inOrder} limit $${count + 1}) ${row} ${joins} ${inOrder}`;
  const countStatement = `select count(*) as total, count(case when ${filter?.sql ?? '1 = 1'} then 1 end) as found
    from ${from} where ${onList}`;
  for await (const { isLast, ...ids } of slices(sliceOfPage)) {
    const values = [ids.after, ids.to, ...shown.values, ...(filter?.values ?? [])];
    // Only a first page has the counts: the next ones needn't read all rows for them.
    const counted = after ? undefined : await db.one<Counts>(countStatement, values);
    const { total, found: matches } = counted ?? { total: 0, found: 0 };
    const place = after ? [after.value, after.id] : [];
    const rows =
      after || matches > 0
        ? await db.all<Sorted<R>>(rowsStatement, [...values, limit + 1, ...place])
        : [];
    yield { isLast, total, found: matches, rows };
  }
}

/** Makes a page from its slices. */
export async function pageFrom<R>(
  slices: AsyncIterable<PageSlice<R>>,
  { isDescending, limit }: Omit<PageRequest, 'sort'>,
): Promise<ListPage<R>> {
  const page: ListPage<R> = { rows: [], total: 0, found: 0 };
  const direction = isDescending ? -1 : 1;
  for await (const { rows, total, found: matches } of slices) {
    page.total += total;
    page.found += matches;
    page.rows = [...page.rows, ...rows]
      .sort((a, b) => direction * (order(a.sort_key, b.sort_key) || a.id - b.id))
      .slice(0, limit + 1);
  }
  return page;
}

const isAstral = /[\ud800-\udfff]/;

/** Sorts as both databases do: numbers before texts, and texts by their bytes in UTF-8. */
function order(a: string | number, b: string | number): number {
  if (typeof a !== typeof b) return typeof a === 'number' ? -1 : 1;
  if (typeof a === 'string' && (isAstral.test(a) || isAstral.test(String(b)))) {
    return Buffer.compare(Buffer.from(a), Buffer.from(String(b)));
  }
  return a < b ? -1 : a > b ? 1 : 0;
}

export { foldOf };

/** A text as a pattern of `like … escape '\'` for what `foldOf` of it makes of a column. */
export function containing(text: string): string {
  if (text === '') return '';
  return `%${folded(text).replace(/[\\%_]/g, '\\$&')}%`;
}
