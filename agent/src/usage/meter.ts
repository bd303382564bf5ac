// Turns the engine's counts of traffic into rows of usage: never negative, and no byte twice.
import type { Logger } from 'pino';
import type { UsageRow } from '../../../kit/src/node_interface.ts';
import type { Clock } from '../clock.ts';
import type { Engine, Finished, Poll, Traffic } from '../engine.ts';
import type { Journal } from './journal.ts';
import { type Carry, identityOf, type Tick } from './journal_state.ts';
import type { Limits } from './limits.ts';

/** How long a connection is remembered after the engine stopped reporting it. */
const goneSeconds = 3600;

export interface MeterOptions {
  engine: Pick<Engine, 'poll'>;
  journal: Journal;
  clock: Clock;
  log: Logger;
  poll_seconds: number;
  /** Receives what was counted, and returns when to count again. */
  limits?: Pick<Limits, 'counted'>;
}

export class Meter {
  readonly #engine: Pick<Engine, 'poll'>;
  readonly #journal: Journal;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #pollSeconds: number;
  readonly #limits: Pick<Limits, 'counted'> | undefined;
  /** Since when (steady seconds) the engine has not reported a counted connection. */
  #goneSince = new Map<string, number>();
  /** The last poll at the usual interval, in steady seconds. */
  #usualAt = Number.NEGATIVE_INFINITY;
  /** Reported by polls, but not in the journal yet. It goes into the next tick. */
  #unstored: Pick<Poll, 'finished' | 'cursor'> | undefined;
  #fault: string | undefined;
  /** The bytes of all rows so far. */
  readonly transferred = { up: 0, down: 0 };

  constructor({ engine, journal, clock, log, poll_seconds, limits }: MeterOptions) {
    this.#engine = engine;
    this.#journal = journal;
    this.#clock = clock;
    this.#log = log;
    this.#pollSeconds = poll_seconds;
    this.#limits = limits;
  }

  /** Ticks until the signal is aborted. A failed tick is repeated, and loses nothing. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      let pauseSeconds = this.#pollSeconds;
      try {
        const rows = await this.tick();
        pauseSeconds = this.#limits?.counted(rows) ?? pauseSeconds;
        if (this.#fault !== undefined) this.#log.info('usage is counted again');
        this.#fault = undefined;
      } catch (error) {
        const fault = `Usage cannot be counted: ${(error as Error).message}`;
        if (fault !== this.#fault) this.#log.error({ err: error }, 'usage cannot be counted');
        this.#fault = fault;
      }
      await this.#clock.sleep(pauseSeconds, signal);
    }
  }

  /** The faults now, a sentence each. */
  faults(): string[] {
    return this.#fault === undefined ? [] : [this.#fault];
  }

  /**
   * Counts the traffic since the last tick, and returns its rows. One call at a time. Errors: the
   * engine or the journal failed. The next tick counts the traffic.
   */
  async tick(): Promise<UsageRow[]> {
    const steady = this.#clock.steady();
    const isExtra = steady - this.#usualAt < 0.9 * this.#pollSeconds;
    if (!isExtra) this.#usualAt = steady;
    const unstored = this.#unstored;
    const cursor = unstored ? unstored.cursor : this.#journal.cursor;
    const poll = await this.#engine.poll(cursor, this.#journal, isExtra);
    const sound = {
      finished: [...this.#foldOf(unstored?.finished ?? []), ...this.#soundOf(poll.finished)],
      open: this.#soundOf(poll.open),
      cursor: poll.cursor,
    };
    this.#unstored = { finished: sound.finished, cursor: poll.cursor };
    const gone = this.#findGone(poll.open);
    // If the clock was set back, traffic must not look older than earlier traffic.
    const at = Math.max(this.#clock.now(), this.#journal.newest_at);
    const tick = settle(this.#journal, sound, gone, at);
    const { rows, counted, settled, carry } = tick;
    const isIdle = rows.length + counted.length + settled.length + carry.length === 0;
    // The cursor also moves past traffic that is not billed, so that it is not read again.
    const isSame = JSON.stringify(tick.cursor) === JSON.stringify(this.#journal.cursor);
    await (isIdle && isSame ? this.#journal.repair() : this.#journal.append(tick));
    this.#unstored = undefined;
    for (const { up, down } of rows) {
      this.transferred.up += up;
      this.transferred.down += down;
    }
    return rows;
  }

  /** The same sums in fewer entries. Only those of counted connections must stay separate. */
  #foldOf(finished: Finished[]): Finished[] {
    const sums = new Map<string, Finished>();
    const apart: Finished[] = [];
    for (const traffic of finished) {
      if (this.#journal.counted.has(traffic.connection)) apart.push(traffic);
      else {
        const { up = 0, down = 0 } = sums.get(identityOf(traffic)) ?? {};
        const sum = { ...traffic, connection: '', up: up + traffic.up, down: down + traffic.down };
        sums.set(identityOf(traffic), sum);
      }
    }
    return [...apart, ...sums.values()];
  }

  /** Leaves out impossible counts: because of one, the whole batch would be rejected. */
  #soundOf<T extends Traffic>(counts: T[]): T[] {
    return counts.filter((traffic) => {
      const { account, user, up, down } = traffic;
      const isSound =
        [account, user, up, down].every(Number.isSafeInteger) &&
        account >= 1 &&
        user >= 1 &&
        up >= 0 &&
        down >= 0;
      if (!isSound) this.#log.error({ traffic }, 'an impossible count was left out');
      return isSound;
    });
  }

  /** Counted connections that the engine has not reported for so long that they must be over. */
  #findGone(open: Traffic[]): string[] {
    const now = this.#clock.steady();
    const isOpen = new Set(open.map(({ connection }) => connection));
    const goneSince = new Map<string, number>();
    for (const connection of this.#journal.counted.keys()) {
      if (isOpen.has(connection)) continue;
      goneSince.set(connection, this.#goneSince.get(connection) ?? now);
    }
    this.#goneSince = goneSince;
    return [...goneSince]
      .filter(([, since]) => now - since >= goneSeconds)
      .map(([connection]) => connection);
  }
}

/** The counts so far. */
interface Counted {
  readonly counted: ReadonlyMap<string, Traffic>;
  readonly carry: ReadonlyMap<string, Carry>;
}

/**
 * The tick that adds a poll to the counts so far. For each user, all rows minus the carry always
 * equal everything finished plus the counts of unfinished requests. `gone`: connections to forget,
 * unless they have just finished.
 */
export function settle(before: Counted, poll: Poll, gone: string[], at: number): Tick {
  const counted = new Map<string, Traffic>();
  const settled = new Set<string>();
  const sums = new Map<string, Carry>();
  const add = ({ account, user }: Traffic, up: number, down: number) => {
    const key = identityOf({ account, user });
    const sum = sums.get(key) ?? { account, user, up: 0, down: 0 };
    sums.set(key, { account, user, up: sum.up + up, down: sum.down + down });
  };
  const countedOf = (connection: string) =>
    counted.get(connection) ??
    (settled.has(connection) ? undefined : before.counted.get(connection));
  const forget = (connection: string) => {
    counted.delete(connection);
    if (before.counted.has(connection)) settled.add(connection);
  };
  /** The earlier count of this request. If it was of another user, that was a wrong guess. */
  const takeBack = (traffic: Traffic) => {
    const previous = countedOf(traffic.connection);
    if (!previous || identityOf(previous) === identityOf(traffic)) return previous;
    add(previous, -previous.up, -previous.down);
    forget(previous.connection);
    return undefined;
  };

  for (const final of poll.finished) {
    const previous = takeBack(final);
    add(final, final.up - (previous?.up ?? 0), final.down - (previous?.down ?? 0));
    forget(final.connection);
  }
  for (const { connection, account, user, up, down } of poll.open) {
    const traffic = { connection, account, user, up, down };
    const previous = takeBack(traffic);
    // A higher earlier figure stands until the request is finished.
    const more = {
      up: Math.max(up - (previous?.up ?? 0), 0),
      down: Math.max(down - (previous?.down ?? 0), 0),
    };
    if (more.up === 0 && more.down === 0) continue;
    add(traffic, more.up, more.down);
    counted.set(connection, {
      ...traffic,
      up: more.up + (previous?.up ?? 0),
      down: more.down + (previous?.down ?? 0),
    });
  }
  for (const connection of gone) settled.add(connection);

  return {
    cursor: poll.cursor,
    ...outcomeOf(sums, before.carry, at),
    counted: [...counted.values()],
    settled: [...settled],
  };
}

/** A positive sum becomes a row; a negative one is carried over. */
function outcomeOf(
  sums: Map<string, Carry>,
  carried: ReadonlyMap<string, Carry>,
  at: number,
): Pick<Tick, 'rows' | 'carry'> {
  const rows: UsageRow[] = [];
  const carry: Carry[] = [];
  for (const [key, { account, user, ...sum }] of sums) {
    const owed = carried.get(key) ?? { up: 0, down: 0 };
    const up = sum.up - owed.up;
    const down = sum.down - owed.down;
    if (up > 0 || down > 0) {
      rows.push({ account, user, at, up: Math.max(up, 0), down: Math.max(down, 0) });
    }
    const rest = { account, user, up: Math.max(-up, 0), down: Math.max(-down, 0) };
    if (rest.up !== owed.up || rest.down !== owed.down) carry.push(rest);
  }
  return { rows, carry };
}
