// Revisions: every change gets the next number and an entry in the log that nodes follow, and bumps
// the version of what it changes.
import type { Reader, Transaction } from '../db/database.ts';

export type ChangeKind =
  | 'server'
  | 'keys'
  | 'account'
  | 'contract'
  | 'user'
  | 'authlist'
  | 'authlist_cleared'
  | 'override'
  | 'overrides_cleared'
  | 'explain'
  | 'connections'
  | 'end_connections'
  | 'exit_uses'
  | 'erased_users';

export interface Change {
  kind: ChangeKind;
  /** The account of the record; null for a record of the network. */
  account_id: number | null;
  /** The server that needs the change; null: every server of the account. */
  server_id: number | null;
  /** The record within its account and kind; null when the kind is enough. */
  record_id: number | null;
}

/** A change to record; a server or record that is left out is null. */
export type NewChange = Pick<Change, 'kind' | 'account_id'> & Partial<Change>;

/** A change as it is stored in the log. */
export interface LoggedChange extends Change {
  revision: number;
  at: number;
}

export interface Position {
  epoch: string;
  revision: number;
}

/** Where the history of changes stands. */
export async function networkPosition(db: Reader): Promise<Position> {
  const row = await db.one<Position>('select epoch, revision from network');
  if (!row) throw new Error('The database has no network row.');
  return row;
}

/**
 * The account id of the network's own versions: servers, exit IPs, health. Accounts count from 1.
 */
export const networkVersion = 0;

/**
 * The parts of an account that pages show, each with the revision of its last change. `contract`
 * includes the API tokens.
 */
export type Topic = 'authlist' | 'overrides' | 'users' | 'contract' | 'usage';
const recordTopics: Topic[] = ['authlist', 'overrides', 'users', 'contract'];
export const topics: readonly Topic[] = [...recordTopics, 'usage'];

/** The parts in which a change shows. */
const topicsOf: Record<ChangeKind, Topic[]> = {
  server: [],
  keys: [],
  account: ['contract'],
  contract: ['contract'],
  user: ['users'],
  authlist: ['authlist'],
  authlist_cleared: ['authlist'],
  override: ['overrides'],
  overrides_cleared: ['overrides'],
  explain: [],
  connections: [],
  end_connections: [],
  exit_uses: [],
  erased_users: [],
};

/** They pass: neither a record nor a response shows them. */
const passing: ChangeKind[] = ['explain', 'connections', 'end_connections', 'exit_uses'];

/** The columns of `versions` that a bump raises. */
type VersionColumn = 'revision' | `${Topic}_revision`;
type Bumped = Record<VersionColumn, number>;
const columns: VersionColumn[] = ['revision', ...topics.map(columnOf)];
const unchanged = Object.fromEntries(columns.map((column) => [column, 0])) as Bumped;

function columnOf(topic: Topic): `${Topic}_revision` {
  return `${topic}_revision`;
}

/** A number stored per account (0: the network) and name. */
interface Counter {
  account_id: number;
  list: string;
  last: number;
}

/** The revisions and numbers that the actions of one group take, all written before its commit. */
class ChangeGroup {
  /** Ids up to this one may have been given in a lost history. */
  readonly idFloor: number;
  #revision: number;
  readonly #last: number;
  readonly #logged: LoggedChange[] = [];
  readonly #versions = new Map<number, Bumped>();
  readonly #counters = new Map<number, Map<string, Counter>>();
  readonly #usedCounters = new Set<Counter>();

  constructor({ revision, id_floor }: { revision: number; id_floor: number }) {
    this.idFloor = id_floor;
    this.#last = revision;
    this.#revision = revision;
  }
  log(change: Omit<LoggedChange, 'revision'>): number {
    const { kind, account_id } = change;
    const revision = passing.includes(kind)
      ? this.#next()
      : this.bump(account_id ?? networkVersion, topicsOf[kind]);
    this.#logged.push({ revision, ...change });
    return revision;
  }
  /**
   * Sets versions of an account (0: the network) to the next revision, and returns it. The changed
   * parts are noted for the network too, for pages that show all accounts.
   */
  bump(account_id: number, changed: readonly Topic[], isOfRecords = true): number {
    const revision = this.#next();
    if (isOfRecords) this.#set(account_id, 'revision', revision);
    for (const topic of changed) {
      this.#set(account_id, columnOf(topic), revision);
      this.#set(networkVersion, columnOf(topic), revision);
    }
    return revision;
  }
  #next(): number {
    this.#revision += 1;
    return this.#revision;
  }
  #set(account_id: number, column: VersionColumn, revision: number): void {
    const bumped = this.#versions.get(account_id) ?? { ...unchanged };
    bumped[column] = revision;
    this.#versions.set(account_id, bumped);
  }
  /** Undefined until the account's counters were read. */
  counter(account_id: number, list: string): Counter | undefined {
    const ofAccount = this.#counters.get(account_id);
    if (!ofAccount) return undefined;
    const counter = ofAccount.get(list) ?? { account_id, list, last: 0 };
    ofAccount.set(list, counter);
    this.#usedCounters.add(counter);
    return counter;
  }
  /** All counters of an account are read with the first of them. */
  async readCounters(tx: Transaction, account_id: number): Promise<void> {
    const rows = await tx.all<Counter>('select * from counters where account_id = $1', [
      account_id,
    ]);
    // Meanwhile another caller may have read and counted.
    if (this.#counters.has(account_id)) return;
    this.#counters.set(account_id, new Map(rows.map((row) => [row.list, row])));
  }
  async write(tx: Transaction): Promise<void> {
    await Promise.all([
      tx.insertMany('changes', this.#logged as never),
      tx.insertMany(
        'versions',
        Array.from(this.#versions, ([account_id, bumped]) => ({ account_id, ...bumped })),
        `on conflict (account_id) do update set ${columns.map(
          (column) =>
            `${column} = case when excluded.${column} > 0 then excluded.${column} else versions.${column} end`,
        )}`,
      ),
      tx.insertMany(
        'counters',
        Array.from(this.#usedCounters, (counter) => ({ ...counter })),
        'on conflict (account_id, list) do update set last = excluded.last',
      ),
      this.#revision > this.#last &&
        tx.run('update network set revision = $1, newest_time = $2', [this.#revision, tx.now]),
    ]);
  }
}

function changesOf(tx: Transaction): Promise<ChangeGroup> {
  return tx.group.share('changes', async () => {
    const row = await tx.one<{ revision: number; id_floor: number }>(
      'select revision, id_floor from network',
    );
    const group = new ChangeGroup(row ?? { revision: 0, id_floor: 0 });
    tx.group.beforeCommit((last) => group.write(last));
    return group;
  });
}

/**
 * Logs a change for the nodes and returns its revision. Bumps the version of its account (or of the
 * network), except for questions, watches and orders to end connections, which no response shows.
 * Revisions commit in order on both engines: only one group writes at a time.
 */
export async function recordChange(tx: Transaction, change: NewChange): Promise<number> {
  tx.markWritten();
  const { kind, account_id, server_id = null, record_id = null } = change;
  return (await changesOf(tx)).log({ kind, account_id, server_id, record_id, at: tx.now });
}

/**
 * For an account (0: the network) whose responses change although nodes have nothing to apply.
 * Returns the revision. `changed` names the parts that show it; none: all parts.
 */
export async function bumpVersion(
  tx: Transaction,
  account_id: number,
  ...changed: Topic[]
): Promise<number> {
  tx.markWritten();
  const isOfAll = changed.length === 0 && account_id !== networkVersion;
  return (await changesOf(tx)).bump(account_id, isOfAll ? recordTopics : changed);
}

/** For an account with new usage: only responses that show usage change. */
export async function bumpUsage(tx: Transaction, account_id: number): Promise<void> {
  tx.markWritten();
  (await changesOf(tx)).bump(account_id, ['usage'], false);
}

async function counterOf(tx: Transaction, account_id: number, list: string): Promise<Counter> {
  const group = await changesOf(tx);
  const counter = group.counter(account_id, list);
  if (counter) return counter;
  await group.readCounters(tx, account_id);
  return group.counter(account_id, list) as Counter;
}

/**
 * The next number of a list of an account (0: of the network). Gaps may occur. No number is used
 * twice, not even one that was given in a lost history.
 */
export async function nextId(tx: Transaction, account_id: number, list: string): Promise<number> {
  const { idFloor } = await changesOf(tx);
  const counter = await counterOf(tx, account_id, list);
  counter.last = Math.max(counter.last, idFloor) + 1;
  return counter.last;
}

/** The next number after `last`, and after those that a lost history may have given. */
export async function above(tx: Transaction, last: number): Promise<number> {
  return Math.max(last, (await changesOf(tx)).idFloor) + 1;
}

/** How many records of a list an account holds. */
export async function heldCount(
  tx: Transaction,
  account_id: number,
  list: string,
): Promise<number> {
  return (await counterOf(tx, account_id, `${list} held`)).last;
}

/** Counts records that were added to a list of an account, or removed from it (negative). */
export async function countHeld(
  tx: Transaction,
  account_id: number,
  list: string,
  added: number,
): Promise<void> {
  tx.markWritten();
  (await counterOf(tx, account_id, `${list} held`)).last += added;
}

/** The last committed number of a list of an account (0: of the network); 0 before the first. */
export async function lastId(db: Reader, account_id: number, list: string): Promise<number> {
  const row = await db.one<{ last: number }>(
    'select last from counters where account_id = $1 and list = $2',
    [account_id, list],
  );
  return row?.last ?? 0;
}
