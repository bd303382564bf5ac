// The write budget: how many writes and stored idempotency keys an account may have per day (UTC).
// Each process counts for itself.
import { tooManyRequests } from '../errors.ts';

const daySeconds = 86_400;
/** Each reserve, and what a user without the admin flag has, as a share of the day's writes. */
const reserveShare = 1 / 10;

/** The kind of a write. Each kind may use one reserve more than the kinds before it. */
export type WriteKind = 'addition' | 'revocation' | 'revocation by an admin';

const kinds: readonly WriteKind[] = ['addition', 'revocation', 'revocation by an admin'];

export interface Spending {
  kind: WriteKind;
  /** The number of writes that it counts as. */
  amount: number;
  /** Whether its response is stored for an Idempotency-Key. */
  is_kept: boolean;
  /**
   * The user without the admin flag who makes the write. Each has a tenth of the account's budget,
   * and another tenth for revocations.
   */
  user_id?: number | undefined;
}

interface Spent {
  writes: number;
  kept: number;
  /** By user without the admin flag. Grows with the users, whose number is limited. */
  of_users: Map<number, number>;
}

export class WriteBudget {
  readonly #writesPerDay: number;
  readonly #keysPerDay: number;
  #day = 0;
  /** Counts of the current day. Grows with the accounts, whose number operators choose. */
  #spent = new Map<number, Spent>();

  constructor(limits: { writes_per_day: number; idempotency_keys_per_day: number }) {
    this.#writesPerDay = limits.writes_per_day;
    this.#keysPerDay = limits.idempotency_keys_per_day;
  }

  /**
   * Runs `write`. Its action calls `spend` when it is about to write. The write counts once however
   * often the action runs, and not at all when it fails.
   * Errors: those of `write`; `spend` throws 429 when the day's budget is used up.
   */
  async within<T>(
    account_id: number,
    write: (spend: (now: number, spending: Spending) => void) => Promise<T>,
  ): Promise<T> {
    let giveBack: (() => void) | undefined;
    try {
      return await write((now, spending) => {
        giveBack ??= this.#spend(account_id, now, spending);
      });
    } catch (error) {
      giveBack?.();
      throw error;
    }
  }

  #spend(
    account_id: number,
    now: number,
    { kind, amount, is_kept, user_id }: Spending,
  ): () => void {
    const spent = this.#ofToday(account_id, now);
    const reserve = Math.ceil(this.#writesPerDay * reserveShare);
    const ofUser = user_id === undefined ? 0 : (spent.of_users.get(user_id) ?? 0);
    if (user_id !== undefined && ofUser + amount > reserve * (kind === 'addition' ? 1 : 2)) {
      throw usedUp(
        now,
        `${amount > 1 ? `With these ${amount} you would have made more than` : 'You have made'} the ${reserve} changes that a user without the admin flag may make on a day.`,
      );
    }
    if (spent.writes + amount > this.#writesPerDay + reserve * kinds.indexOf(kind)) {
      const isReserveLeft = spent.writes < this.#writesPerDay + reserve;
      const still =
        kind === 'addition' && isReserveLeft ? ' Removals and other revocations still pass.' : '';
      throw usedUp(
        now,
        `${amount > 1 ? `With these ${amount} the account would have made more than` : 'The account has made'} the ${this.#writesPerDay} changes that it may make on a day.${still}`,
      );
    }
    if (is_kept && spent.kept >= this.#keysPerDay) {
      throw usedUp(
        now,
        `Idempotency-Key: the account has used the ${this.#keysPerDay} keys that it may use on a day; nothing was done. Requests without a key still pass.`,
      );
    }
    const storedKeys = is_kept ? 1 : 0;
    spent.writes += amount;
    spent.kept += storedKeys;
    const countOfUser = (more: number) => {
      if (user_id === undefined) return;
      spent.of_users.set(user_id, (spent.of_users.get(user_id) ?? 0) + more);
    };
    countOfUser(amount);
    return () => {
      spent.writes -= amount;
      spent.kept -= storedKeys;
      countOfUser(-amount);
    };
  }

  #ofToday(account_id: number, now: number): Spent {
    const day = now - (now % daySeconds);
    if (day !== this.#day) {
      this.#day = day;
      this.#spent = new Map();
    }
    let spent = this.#spent.get(account_id);
    if (!spent) {
      spent = { writes: 0, kept: 0, of_users: new Map() };
      this.#spent.set(account_id, spent);
    }
    return spent;
  }
}

function usedUp(now: number, sentence: string) {
  const waitSeconds = daySeconds - (now % daySeconds);
  return tooManyRequests(
    `${sentence} The next day (UTC) begins in ${waitSeconds} seconds.`,
    { 'retry-after': String(waitSeconds) },
    { code: 'rate_limited' },
  );
}
