// Records as they come back: lists that can be awaited or iterated, and the versions of records.

/** A list: `await` it for the array, or iterate over it with `for await`. */
export interface Listing<Item> extends Promise<Item[]>, AsyncIterable<Item> {}

/** The list that this call returns. */
export function listing<Item>(call: () => Promise<Item[]>): Listing<Item> {
  const items = call();
  return Object.assign(items, {
    async *[Symbol.asyncIterator]() {
      yield* await items;
    },
  });
}

/**
 * A filter by several values, as the API expects it.
 * Errors: TypeError for an empty list, which a server might take for "all".
 */
export function commaSeparated(
  name: string,
  values: readonly string[] | undefined,
): string | undefined {
  if (values?.length === 0) throw new TypeError(`${name}: expected at least one, or none given`);
  return values?.join(',');
}

// Kept apart from the records, which stay as they were received.
const etags = new WeakMap<object, string>();

export function keepEtag(record: object, etag: string | null): void {
  // A proxy that compresses makes the tag weak, which `If-Match` does not take from every server.
  if (etag !== null) etags.set(record, etag.replace(/^W\//, ''));
}

/**
 * The version of a record, or of a whole list, as it was received. As `ifMatch` it keeps a change
 * from undoing another one. The status of a custom DNS entry is part of its version.
 * Errors: TypeError without a version: an element of a list, a copy, or a server that sends none.
 *
 * @example
 * ```ts
 * const entry = await client.overrides.get(1);
 * await client.overrides.change(entry.id, { ip: '203.0.113.9' }, { ifMatch: etagOf(entry) });
 * try {
 *   await client.overrides.remove(entry.id, { ifMatch: etagOf(entry) });
 * } catch (error) {
 *   console.log(error instanceof PreconditionFailedError); // true
 * }
 * ```
 */
export function etagOf(record: object): string {
  const etag = etags.get(record);
  // Without a version, the change would be unconditional.
  if (etag === undefined) throw new TypeError('record: has no version; read it by its id');
  return etag;
}
