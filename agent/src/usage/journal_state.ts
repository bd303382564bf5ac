// The state of the usage journal, in memory. Its entries, applied one by one, give the counts so
// far and the rows still to be sent.
import type { UsageBatch, UsageRow } from '../../../kit/src/node_interface.ts';
import type { Traffic } from '../engine.ts';

/** Bytes of a user that were counted in excess, to be subtracted from later traffic. */
export interface Carry {
  account: number;
  user: number;
  up: number;
  down: number;
}

/** The outcome of one poll of the engine. It applies as a whole or not at all. */
export interface Tick {
  rows: UsageRow[];
  /** Where the engine's next poll continues. */
  cursor: unknown;
  /** By connection: the bytes counted so far of the request that is under way on it. */
  counted: Traffic[];
  /** Connections to forget: nothing is under way on them. */
  settled: string[];
  /** The bytes still to subtract; users without any are forgotten. */
  carry: Carry[];
}

/** A line of the journal. */
export type Entry =
  | { kind: 'journal'; boot: string; seq: number; newest_at?: number }
  | ({ kind: 'tick' } & Tick)
  /** The first `rows` rows become the batch. */
  | { kind: 'batch'; seq: number; rows: number }
  | { kind: 'acknowledged'; seq: number };

/** The most that the control plane accepts in one row. */
const maxBytesOfRow = 2 ** 50;
/** Keeps the entries of a rewritten journal small. */
const maxInEntry = 10_000;

export class JournalState {
  /** Identifies this journal; with `seq` it identifies a batch for ever. */
  boot = '';
  /** Number of the last batch. */
  seq = 0;
  /** The latest `at` that a row ever had; before the first, 1, which is the lowest allowed. */
  newest_at = 1;
  /** The batch that is being sent. */
  batch: UsageBatch | undefined;
  cursor: unknown;
  /** By connection. */
  readonly counted = new Map<string, Traffic>();
  /** By `identityOf`. */
  readonly carry = new Map<string, Carry>();
  /** Rows that are in no batch yet, oldest first. */
  rows: UsageRow[] = [];
  /** By user and hour: the row in `rows` that more traffic is added to. */
  readonly #growing = new Map<string, UsageRow>();

  /** Errors: an entry of a kind that this version does not know. */
  apply(entry: Entry): void {
    switch (entry.kind) {
      case 'journal':
        this.boot = entry.boot;
        this.seq = entry.seq;
        this.newest_at = entry.newest_at ?? 1;
        return;
      case 'tick':
        this.#applyTick(entry);
        return;
      case 'batch': {
        const rows = this.rows.splice(0, entry.rows);
        for (const row of rows) {
          if (this.#growing.get(keyOf(row)) === row) this.#growing.delete(keyOf(row));
        }
        this.seq = entry.seq;
        this.batch = { boot: this.boot, seq: entry.seq, rows };
        return;
      }
      case 'acknowledged':
        if (this.batch?.seq === entry.seq) this.batch = undefined;
        return;
      default:
        throw new Error(`an entry of the kind ${JSON.stringify((entry as Entry).kind)}`);
    }
  }

  /** The shortest history that leads to exactly this state, including the order of the rows. */
  *entries(): Generator<Entry> {
    const nothing = { rows: [], cursor: this.cursor, counted: [], settled: [], carry: [] };
    yield { kind: 'journal', boot: this.boot, seq: this.seq, newest_at: this.newest_at };
    if (this.batch) {
      const { seq, rows } = this.batch;
      for (const piece of inPieces(rows)) yield { kind: 'tick', ...nothing, rows: piece };
      yield { kind: 'batch', seq, rows: rows.length };
    }
    for (const rows of inPieces(this.rows)) yield { kind: 'tick', ...nothing, rows };
    for (const counted of inPieces([...this.counted.values()])) {
      yield { kind: 'tick', ...nothing, counted };
    }
    for (const carry of inPieces([...this.carry.values()])) {
      yield { kind: 'tick', ...nothing, carry };
    }
    yield { kind: 'tick', ...nothing };
  }

  #applyTick({ rows, cursor, counted, settled, carry }: Tick): void {
    for (const row of rows) for (const part of partsOf(row)) this.#add(part);
    this.cursor = cursor;
    for (const connection of settled) this.counted.delete(connection);
    for (const traffic of counted) this.counted.set(traffic.connection, traffic);
    for (const debt of carry) {
      if (debt.up > 0 || debt.down > 0) this.carry.set(identityOf(debt), debt);
      else this.carry.delete(identityOf(debt));
    }
  }

  /**
   * Adds a row to that of the user's hour: in an outage, memory grows with hours, not with polls.
   */
  #add(row: UsageRow): void {
    this.newest_at = Math.max(this.newest_at, row.at);
    const key = keyOf(row);
    const sum = this.#growing.get(key);
    if (sum && sum.up + row.up <= maxBytesOfRow && sum.down + row.down <= maxBytesOfRow) {
      sum.at = Math.max(sum.at, row.at);
      sum.up += row.up;
      sum.down += row.down;
      return;
    }
    this.rows.push(row);
    this.#growing.set(key, row);
  }
}

/** Identifies a user: ids are per account. */
export function identityOf({ account, user }: { account: number; user: number }): string {
  return `${account} ${user}`;
}

function keyOf(row: UsageRow): string {
  return `${identityOf(row)} ${Math.floor(row.at / 3600)}`;
}

/** The row, split into parts that are small enough; usually one. */
function* partsOf(row: UsageRow): Generator<UsageRow> {
  let { up, down } = row;
  do {
    const part = { up: Math.min(up, maxBytesOfRow), down: Math.min(down, maxBytesOfRow) };
    // A clock without a battery may start at 0, which the control plane does not accept.
    yield { ...row, at: Math.max(row.at, 1), ...part };
    up -= part.up;
    down -= part.down;
  } while (up > 0 || down > 0);
}

function* inPieces<T>(all: T[]): Generator<T[]> {
  for (let at = 0; at < all.length; at += maxInEntry) yield all.slice(at, at + maxInEntry);
}
