// How fresh is what we know? The revision of an account's last change, as committed by any process.
import { networkStamp } from './changes.ts';
import type { Database } from './db/database.ts';

export interface Stamp {
  account: number;
  network: number;
  maintenance: boolean;
}

/**
 * Answers with what was committed when the request came in, or later: never with less. At once where
 * that is known without asking (SQLite, nothing committed since), else as a promise.
 */
export interface Stamps {
  current(account_id: number): Stamp | Promise<Stamp>;
}

const sql = `select account_id, revision from stamps where account_id in ($1, ${networkStamp})
  union all select -1, maintenance from network`;

interface StampRow {
  account_id: number;
  revision: number;
}

function toStamp(rows: StampRow[], account_id: number): Stamp {
  const of = (id: number) => rows.find((row) => row.account_id === id)?.revision ?? 0;
  return { account: of(account_id), network: of(networkStamp), maintenance: of(-1) === 1 };
}

/** SQLite: stamps are kept until its data version moves, which is looked at once per turn of the event loop. */
class VersionedStamps implements Stamps {
  readonly #db: Database;
  readonly #version: () => number;
  readonly #known = new Map<number, Stamp>();
  #knownAt = -1;

  constructor(db: Database, version: () => number) {
    this.#db = db;
    this.#version = version;
  }
  current(account_id: number): Stamp | Promise<Stamp> {
    const version = this.#version();
    if (version !== this.#knownAt) {
      this.#known.clear();
      this.#knownAt = version;
    }
    return this.#known.get(account_id) ?? this.#load(account_id, version);
  }
  async #load(account_id: number, version: number): Promise<Stamp> {
    const stamp = toStamp(await this.#db.all<StampRow>(sql, [account_id]), account_id);
    if (version === this.#knownAt) this.#known.set(account_id, stamp);
    return stamp;
  }
}

/** PostgreSQL: all requests that wait at the same time share one query, sent after the last of them came in. */
class BatchedStamps implements Stamps {
  readonly #db: Database;
  #waiting = new Map<number, Array<PromiseWithResolvers<Stamp>>>();
  #asking = false;

  constructor(db: Database) {
    this.#db = db;
  }
  current(account_id: number): Promise<Stamp> {
    const mine = Promise.withResolvers<Stamp>();
    const others = this.#waiting.get(account_id);
    if (others) others.push(mine);
    else this.#waiting.set(account_id, [mine]);
    if (!this.#asking) {
      this.#asking = true;
      setImmediate(() => void this.#ask());
    }
    return mine.promise;
  }
  async #ask(): Promise<void> {
    while (this.#waiting.size > 0) {
      const asked = this.#waiting;
      this.#waiting = new Map();
      try {
        const rows = await this.#db.all<StampRow>(
          `select account_id, revision from stamps where account_id = any($1::bigint[]) or account_id = ${networkStamp}
           union all select -1, maintenance from network`,
          [`{${Array.from(asked.keys()).join(',')}}`],
        );
        const revisions = new Map(rows.map((row) => [row.account_id, row.revision]));
        const network = revisions.get(networkStamp) ?? 0;
        const maintenance = revisions.get(-1) === 1;
        for (const [id, waiters] of asked) {
          const stamp = { account: revisions.get(id) ?? 0, network, maintenance };
          for (const waiter of waiters) waiter.resolve(stamp);
        }
      } catch (error) {
        for (const waiters of asked.values()) for (const waiter of waiters) waiter.reject(error);
      }
    }
    this.#asking = false;
  }
}

/** The way of this database's engine. */
export function openStamps(db: Database): Stamps {
  return db.dataVersion ? new VersionedStamps(db, db.dataVersion.bind(db)) : new BatchedStamps(db);
}
