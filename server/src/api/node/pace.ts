// The pace of a node: how often it may report of each kind. A steady agent of ours stays far below.
import type { Clock } from '../../clock.ts';
import { tooManyRequests } from '../../errors.ts';

/** Reports a second, by path; each may come at once for a minute's worth. */
const rates: Readonly<Record<string, number>> = {
  '/node/usage': 20,
  '/node/last-used': 5,
  '/node/uses': 5,
  '/node/health': 5,
  '/node/faults': 2,
  '/node/answers': 20,
  '/node/changes': 5,
  '/node/acks': 500,
  /** Acknowledgements of less than before: each looks up whose entries are pending again. */
  back: 0.5,
};
const saved_seconds = 60;

export class Pace {
  readonly #clock: Clock;
  /** By node and path: up to when, in steady seconds, its reports are paid for. As many as there are nodes. */
  readonly #until = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Takes one report of a node into account. Errors: 429. */
  take(node_id: number, what: string): void {
    const rate = rates[what];
    if (rate === undefined) return;
    const now = this.#clock.steady();
    const key = `${node_id} ${what}`;
    const next =
      Math.max(this.#until.get(key) ?? Number.NEGATIVE_INFINITY, now - saved_seconds) + 1 / rate;
    if (next > now) {
      const retry_seconds = Math.ceil(next - now);
      throw tooManyRequests(
        `This node reports too often; at most ${rate} a second of this kind.`,
        { 'retry-after': String(retry_seconds) },
        { code: 'rate_limited' },
      );
    }
    this.#until.set(key, next);
  }
}
