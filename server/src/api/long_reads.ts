// Long reads: data that grows with an account is read a slice at a time, from one snapshot, taking
// turns between accounts, while other requests are served.

import { Pace } from '../bounds/pace.ts';
import type { Database, Reader } from '../db/database.ts';
import { Turns, type Waiter } from '../db/turns.ts';
import { unavailable } from '../errors.ts';

/** One slice of any long read, including its processing, in a turn of the event loop. */
const pace = new Pace(1);

/** As many as one address has connections: clients that disconnect and retry can't queue more. */
const maxWaitingOfAccount = 256;

interface WaitingRead extends Waiter {
  begin: () => void;
}

/** Resolves when the account may do something that takes about as long as a slice. */
export function turnOf(account_id: number): Promise<void> {
  return pace.take(String(account_id));
}

/** Reads a single slice at once; longer reads go one at a time, taking turns between accounts. */
export class LongReads {
  readonly #db: Database;
  readonly #waiting = new Turns<WaitingRead>();
  #isBusy = false;

  constructor(db: Database) {
    this.#db = db;
  }

  /** `collect` gets the slices. Errors: 503 when too many of the account wait. */
  async collect<S extends { isLast: boolean }, T>(
    account_id: number,
    read: (db: Reader) => AsyncIterable<S>,
    collect: (slices: AsyncIterable<S>) => Promise<T>,
  ): Promise<T> {
    for await (const first of paced(account_id, read(this.#db))) {
      if (first.isLast) return collect(only(first));
      break;
    }
    const key = String(account_id);
    if (this.#waiting.sizeOf(key) >= maxWaitingOfAccount) {
      throw unavailable('Too many long lists of the account are waited for; try again.', 1);
    }
    await new Promise<void>((begin) => {
      this.#waiting.push({ key, begin });
      this.#next();
    });
    try {
      return await this.#db.snapshot((db) => collect(paced(account_id, read(db))));
    } finally {
      this.#isBusy = false;
      this.#next();
    }
  }

  #next(): void {
    if (this.#isBusy) return;
    const next = this.#waiting.take();
    if (!next) return;
    this.#isBusy = true;
    next.begin();
  }
}

/** Reads each slice when it is the account's turn. */
async function* paced<S>(account_id: number, slices: AsyncIterable<S>) {
  await turnOf(account_id);
  for await (const slice of slices) {
    yield slice;
    await turnOf(account_id);
  }
}

async function* only<S>(slice: S): AsyncGenerator<S, void, void> {
  yield slice;
}
