// Whole lists as JSON: long ones are made a slice at a time, so that other requests are served.
import { createHash } from 'node:crypto';
import type { Versions } from '../changes/versions.ts';
import type { Clock } from '../clock.ts';
import type { Context } from '../context.ts';
import type { Reader } from '../db/database.ts';
import { largeBytes } from '../http/large_bodies.ts';
import { LongReads, turnOf } from './long_reads.ts';

/** The end of a response that time alone does not change. */
export const never = Number.MAX_SAFE_INTEGER;

/** A part of a list as it is shown. */
export interface Part {
  values: unknown[];
  isLast: boolean;
  /** Epoch seconds at which time alone changes it. */
  valid_until: number;
}

/** The parts of a list of entries, each of which time alone changes at `changesAt`. */
export async function* partsOf<Entry>(
  slices: AsyncIterable<{ entries: readonly Entry[]; isLast: boolean }>,
  present: (entry: Entry) => unknown,
  changesAt: (entry: Entry) => number,
): AsyncGenerator<Part, void, void> {
  for await (const { entries, isLast } of slices) {
    yield { values: entries.map(present), isLast, valid_until: earliest(entries.map(changesAt)) };
  }
}

/** The earliest of any number of times. */
export function earliest(times: readonly number[]): number {
  return times.reduce((first, time) => Math.min(first, time), never);
}

/** A list as bytes, with its strong ETag. */
export class ListJson {
  readonly body: Buffer;
  readonly etag: string;
  readonly valid_until: number;

  constructor(body: Buffer, etag: string, valid_until: number) {
    this.body = body;
    this.etag = etag;
    this.valid_until = valid_until;
  }
}

/** The JSON array of all parts. */
export async function jsonOf(parts: AsyncIterable<Part>): Promise<ListJson> {
  const hash = createHash('sha1');
  const pieces: Buffer[] = [];
  let valid_until = never;
  const add = (text: string) => {
    const piece = Buffer.from(text);
    hash.update(piece);
    pieces.push(piece);
  };
  for await (const part of parts) {
    valid_until = Math.min(valid_until, part.valid_until);
    if (part.values.length === 0) continue;
    add(pieces.length === 0 ? '[' : ',');
    add(JSON.stringify(part.values).slice(1, -1));
  }
  add(pieces.length === 0 ? '[]' : ']');
  return new ListJson(Buffer.concat(pieces), `"${hash.digest('base64url')}"`, valid_until);
}

/** The list of each body of bytes. */
const listOf = new WeakMap<Buffer, ListJson>();

/** Makes lists: long ones one at a time, by turns between accounts; equal requests share one. */
export class Lists {
  readonly #clock: Clock;
  readonly #reads: LongReads;
  readonly #making = new Map<string, Promise<ListJson>>();
  /** Lists for as long as they are being read. */
  readonly #made = new Map<string, WeakRef<ListJson>>();
  readonly #unread = new FinalizationRegistry((key: string) => {
    if (!this.#made.get(key)?.deref()) this.#made.delete(key);
  });
  readonly #isVersioned: boolean;

  /** `isVersioned`: whether the versions cover everything in the lists. */
  constructor(ctx: Pick<Context, 'db' | 'clock'>, isVersioned: boolean) {
    this.#clock = ctx.clock;
    this.#reads = new LongReads(ctx.db);
    this.#isVersioned = isVersioned;
  }

  /** `name` and the versions identify the list in its account; it is read after the versions. */
  async make(
    account_id: number,
    name: string,
    { epoch, account, network }: Versions,
    read: (reader: Reader) => AsyncIterable<Part>,
  ): Promise<ListJson> {
    const key = `${account_id} ${epoch} ${account} ${network} ${name}`;
    for (;;) {
      const now = this.#clock.now();
      const shared = this.#making.get(key) ?? this.#made.get(key)?.deref();
      if (!shared) return this.#share(key, this.#reads.collect(account_id, read, jsonOf));
      const made = await shared;
      if (made.body.length >= largeBytes) await turnOf(account_id);
      // A list begun before an entry expired must not answer a request that came after that.
      if (now < made.valid_until) return made;
      this.#made.delete(key);
    }
  }

  async #share(key: string, making: Promise<ListJson>): Promise<ListJson> {
    this.#making.set(key, making);
    try {
      const made = await making;
      if (!this.#isVersioned) return made;
      listOf.set(made.body, made);
      this.#made.set(key, new WeakRef(made));
      this.#unread.register(made, key);
      return made;
    } finally {
      this.#making.delete(key);
    }
  }
}
