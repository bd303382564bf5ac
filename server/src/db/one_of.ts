// Lists in a condition: `in ($3, $4, …)` in a few sizes, so that few statements are prepared.

const sizes = [1, 8, 64, 512, 4096];

/**
 * The values without duplicates, padded with the last one to one of a few lengths; one placeholder
 * each.
 */
function padded<T>(distinct: readonly T[]): T[] {
  const size = sizes.find((candidate) => candidate >= distinct.length) ?? distinct.length;
  const last = distinct.at(-1);
  return last === undefined ? [] : [...distinct, ...Array<T>(size - distinct.length).fill(last)];
}

/** At least one text, since a condition on an empty list is not valid. */
export function paddedTexts(texts: readonly string[]): string[] {
  return padded([...new Set(texts.length > 0 ? texts : [''])]);
}

/**
 * A condition on a column, whose placeholders begin with `$first`: one of these ids; undefined:
 * any.
 */
export function idCondition(
  column: string,
  only: readonly number[] | undefined,
  first = 1,
): { sql: string; ids: number[] } {
  if (!only) return { sql: '1 = 1', ids: [] };
  const ids = padded([...new Set(only.length > 0 ? only : [0])]);
  return { sql: `${column} in (${ids.map((_, at) => `$${at + first}`)})`, ids };
}

/**
 * Pairs of numbers as a list for `(one, other) in …`, whose placeholders begin with `$first`, and
 * its values.
 */
export function paddedPairs(
  pairs: ReadonlyArray<readonly [number, number]>,
  type: 'bigint' | 'double precision',
  first = 1,
): { list: string; values: number[] } {
  const all = padded(pairs);
  const places = all.map(
    (_, at) => `(cast($${2 * at + first} as ${type}), cast($${2 * at + 1 + first} as ${type}))`,
  );
  return { list: `(values ${places})`, values: all.flat() };
}

/** An account, and an id that is unique within it. */
export type Key = readonly [account_id: number, id: number];

/** Keys as a list for `(account_id, id) in …`, and its values. */
export const listOfKeys = (keys: readonly Key[]) => paddedPairs(keys, 'bigint');

/**
 * Finds the rows of any number of keys, in batches. Returns a function that looks one up by its
 * key.
 */
export async function findByKeys<R>(
  keys: readonly Key[],
  keyOf: (row: R) => Key,
  find: (keys: readonly Key[]) => Promise<R[]>,
): Promise<(...key: Key) => R | undefined> {
  const maxKeys = 512;
  const rowOfKey = new Map<string, R>();
  const distinct = Array.from(new Map(keys.map((key) => [String(key), key])).values());
  for (let at = 0; at < distinct.length; at += maxKeys) {
    const rows = await find(distinct.slice(at, at + maxKeys));
    for (const row of rows) rowOfKey.set(String(keyOf(row)), row);
  }
  return (...key) => rowOfKey.get(String(key));
}
