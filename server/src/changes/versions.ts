// Versions: the revisions of an account's last changes, as committed by any process. Cached data is
// valid while they do not change.

import type { Database } from '../db/database.ts';
import { networkVersion, type Topic, topics } from './changes.ts';

export interface Versions {
  /** The history that the revisions belong to: in another history they may mean something else. */
  epoch: string;
  /** The last change that shows in a response of the account, except usage. */
  account: number;
  /** The last change of its contract or its API tokens. */
  contract: number;
  /** The last report of its usage. */
  usage: number;
  /** The last change of servers, exit IPs or health. */
  network: number;
  maintenance: boolean;
}

interface CurrentVersions extends Versions {
  /** The last change of each part of the account (0: of any account). */
  topics: Readonly<Record<Topic, number>>;
}

/**
 * Returns the versions as committed when the request came in, or later; never older ones. Returns
 * them at once where they are known without a query (SQLite, nothing committed since), else a
 * promise.
 */
export interface VersionReader {
  current(account_id: number): CurrentVersions | Promise<CurrentVersions>;
}

/**
 * The versions of the accounts that `condition` selects, of the network, and (as account -1)
 * maintenance and epoch.
 */
const sqlFor = (
  condition: string,
) => `select account_id, revision, ${topics.map((topic) => `${topic}_revision as ${topic}`)}, '' as epoch
  from versions where ${condition} or account_id = ${networkVersion}
  union all select -1, maintenance, ${topics.map(() => '0')}, epoch from network`;
const sqlForOne = sqlFor('account_id = $1');
const sqlForMany = sqlFor('account_id = any($1::bigint[])');

interface VersionRow extends Record<Topic, number> {
  account_id: number;
  revision: number;
  epoch: string;
}

function toVersions(rows: Map<number, VersionRow>, account_id: number): CurrentVersions {
  const account = rows.get(account_id);
  const ofTopics = Object.fromEntries(
    topics.map((topic) => [topic, account?.[topic] ?? 0]),
  ) as Record<Topic, number>;
  return {
    epoch: rows.get(-1)?.epoch ?? '',
    account: account?.revision ?? 0,
    contract: ofTopics.contract,
    usage: ofTopics.usage,
    network: rows.get(networkVersion)?.revision ?? 0,
    maintenance: rows.get(-1)?.revision === 1,
    topics: ofTopics,
  };
}

function byAccount(rows: VersionRow[]): Map<number, VersionRow> {
  return new Map(rows.map((row) => [row.account_id, row]));
}

/**
 * SQLite: versions are cached until the data version changes, which is checked once per turn of the
 * event loop.
 */
class DataVersionReader implements VersionReader {
  readonly #db: Database;
  readonly #version: () => number;
  readonly #versions = new Map<number, CurrentVersions>();
  #knownAt = -1;

  constructor(db: Database, version: () => number) {
    this.#db = db;
    this.#version = version;
  }
  current(account_id: number): CurrentVersions | Promise<CurrentVersions> {
    let version: number;
    try {
      version = this.#version();
    } catch (error) {
      // Cached responses are served outside the router, where no handler would catch the error.
      return Promise.reject(error);
    }
    if (version !== this.#knownAt) {
      this.#versions.clear();
      this.#knownAt = version;
    }
    return this.#versions.get(account_id) ?? this.#load(account_id, version);
  }
  async #load(account_id: number, version: number): Promise<CurrentVersions> {
    const versions = toVersions(
      byAccount(await this.#db.all<VersionRow>(sqlForOne, [account_id])),
      account_id,
    );
    if (version === this.#knownAt) this.#versions.set(account_id, versions);
    return versions;
  }
}

/**
 * PostgreSQL: all requests that wait at the same time share one query, sent after the last of them
 * came in.
 */
class BatchedReader implements VersionReader {
  readonly #db: Database;
  #waiting = new Map<number, Array<PromiseWithResolvers<CurrentVersions>>>();
  #asking = false;

  constructor(db: Database) {
    this.#db = db;
  }
  current(account_id: number): Promise<CurrentVersions> {
    const pending = Promise.withResolvers<CurrentVersions>();
    const others = this.#waiting.get(account_id);
    if (others) others.push(pending);
    else this.#waiting.set(account_id, [pending]);
    if (!this.#asking) {
      this.#asking = true;
      const settle = () => void this.#ask();
      setImmediate(settle);
    }
    return pending.promise;
  }
  async #ask(): Promise<void> {
    while (this.#waiting.size > 0) {
      const batch = this.#waiting;
      this.#waiting = new Map();
      try {
        const ids = `{${Array.from(batch.keys()).join(',')}}`;
        const rows = byAccount(await this.#db.all<VersionRow>(sqlForMany, [ids]));
        for (const [id, waiters] of batch) {
          const versions = toVersions(rows, id);
          for (const waiter of waiters) waiter.resolve(versions);
        }
      } catch (error) {
        for (const waiters of batch.values()) for (const waiter of waiters) waiter.reject(error);
      }
    }
    this.#asking = false;
  }
}

/** The implementation for this database's engine. */
export function openVersions(db: Database): VersionReader {
  return db.dataVersion
    ? new DataVersionReader(db, db.dataVersion.bind(db))
    : new BatchedReader(db);
}
