// Revisions: every change gets the next number, the log that nodes follow, and a stamp on what it touched.
import type { Transaction } from './db/database.ts';

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
  | 'explain';

export interface Change {
  kind: ChangeKind;
  /** Whose record; null for a record of the network. */
  account_id: number | null;
  /** The one server that needs it; null: every server that the account is on. */
  server_id: number | null;
  /** The record within its account and kind; null when the kind alone names it. */
  record_id: number | null;
}

/** A change as the log keeps it. */
export interface LoggedChange extends Change {
  revision: number;
  at: number;
}

/** The stamp of the network itself: servers, exit IPs, health. Accounts count from 1. */
export const networkVersion = 0;

class Ledger {
  revision: number;
  readonly logged: LoggedChange[] = [];
  readonly stamps = new Map<number, { revision: number; contract_revision: number }>();

  constructor(revision: number) {
    this.revision = revision;
  }
  next(): number {
    this.revision += 1;
    return this.revision;
  }
  /** The next revision, stamped on an account (0: the network), and on its contract where that changed. */
  stamp(account_id: number, contractToo: boolean): number {
    this.next();
    const contract_revision = contractToo
      ? this.revision
      : (this.stamps.get(account_id)?.contract_revision ?? 0);
    this.stamps.set(account_id, { revision: this.revision, contract_revision });
    return this.revision;
  }
}

function ledgerOf(tx: Transaction): Promise<Ledger> {
  return tx.group.share('ledger', async () => {
    const row = await tx.one<{ revision: number }>('select revision from network');
    const ledger = new Ledger(row?.revision ?? 0);
    tx.group.beforeCommit(async (last) => {
      await Promise.all([
        last.insertMany('changes', ledger.logged as never),
        last.insertMany(
          'stamps',
          Array.from(ledger.stamps, ([account_id, stamp]) => ({ account_id, ...stamp })),
          `on conflict (account_id) do update set revision = excluded.revision, contract_revision =
             case when excluded.contract_revision > 0 then excluded.contract_revision else stamps.contract_revision end`,
        ),
        last.run('update network set revision = $1, newest_time = $2', [ledger.revision, last.now]),
      ]);
    });
    return ledger;
  });
}

/**
 * Logs a change for the nodes, stamps its account (or the network) unless it is a question, which shows
 * in nobody's answers, and answers its revision.
 * Revisions commit in their order on both engines: only one group writes at a time.
 */
export async function recordChange(tx: Transaction, change: Change): Promise<number> {
  tx.markWritten();
  const ledger = await ledgerOf(tx);
  const revision =
    change.kind === 'explain'
      ? ledger.next()
      : ledger.stamp(change.account_id ?? networkVersion, change.kind === 'contract');
  ledger.logged.push({ revision, ...change, at: tx.now });
  return revision;
}

/** Stamps an account (0: the network) whose answers change without anything for the nodes to apply. */
export async function bumpVersion(tx: Transaction, account_id: number): Promise<void> {
  tx.markWritten();
  (await ledgerOf(tx)).stamp(account_id, false);
}

/** Stamps an account whose API tokens change: what is remembered of its callers ends. */
export async function bumpTokens(tx: Transaction, account_id: number): Promise<void> {
  tx.markWritten();
  (await tokensBumped(tx)).add(account_id);
  (await ledgerOf(tx)).stamp(account_id, true);
}

/** The accounts whose API tokens have changed in this very group: what it has read of them before is old. */
export function tokensBumped(tx: Transaction): Promise<Set<number>> {
  return tx.group.share('tokens touched', async () => new Set());
}

/** A number kept per account (0: the network) and name; written once per group, however often it moved. */
async function counterOf(tx: Transaction, account_id: number, list: string) {
  const counters = await tx.group.share('counters', async () => {
    const used = new Map<string, { account_id: number; list: string; last: number }>();
    tx.group.beforeCommit((last) =>
      last.insertMany(
        'counters',
        Array.from(used.values(), (counter) => ({ ...counter })),
        'on conflict (account_id, list) do update set last = excluded.last',
      ),
    );
    return used;
  });
  const key = `${account_id} ${list}`;
  let counter = counters.get(key);
  if (!counter) {
    const row = await tx.one<{ last: number }>(
      'select last from counters where account_id = $1 and list = $2',
      [account_id, list],
    );
    counter = { account_id, list, last: row?.last ?? 0 };
    counters.set(key, counter);
  }
  return counter;
}

/** The next number of a list of an account (0: of the network). Gaps may occur; none is used twice. */
export async function nextId(tx: Transaction, account_id: number, list: string): Promise<number> {
  const counter = await counterOf(tx, account_id, list);
  counter.last += 1;
  return counter.last;
}

/** How many records of a list an account holds. */
export async function heldCount(
  tx: Transaction,
  account_id: number,
  list: string,
): Promise<number> {
  return (await counterOf(tx, account_id, `${list} held`)).last;
}

/** Counts records added to a list of an account, or removed from it (negative). */
export async function countHeld(
  tx: Transaction,
  account_id: number,
  list: string,
  added: number,
): Promise<void> {
  tx.markWritten();
  (await counterOf(tx, account_id, `${list} held`)).last += added;
}
