// The bytes that clients counted of their own traffic: the truth that a bill is held against.

export interface Sum {
  up: number;
  down: number;
}

export const plus = (a: Sum, b: Sum): Sum => ({
  up: a.up + b.up,
  down: a.down + b.down,
});

const nothing: Sum = { up: 0, down: 0 };

export class Tally {
  readonly #whole: Array<Sum & { at: number }> = [];
  #broken = nothing;
  #forgivable = nothing;
  /** Answers other than 200, by reason. */
  readonly refusals = new Map<string, number>();

  /**
   * A request and its answer are over, or a part of a tunnel's traffic of which every byte arrived.
   */
  addWhole(sum: Sum): void {
    this.#whole.push({ ...sum, at: performance.now() });
  }

  /** The connection broke in the middle: anything up to this may have been transferred. */
  addBroken(sum: Sum): void {
    this.#broken = plus(this.#broken, sum);
  }

  addRefusal(reason: string): void {
    this.refusals.set(reason, (this.refusals.get(reason) ?? 0) + 1);
  }

  /**
   * Bytes that were transferred in these last seconds may be lost: their meter was killed in the
   * middle.
   */
  forgive(seconds: number): void {
    const since = performance.now() - seconds * 1000;
    const recent = this.#whole.filter(({ at }) => at >= since);
    this.#forgivable = recent.reduce(plus, this.#forgivable);
  }

  get sum(): Sum {
    return this.#whole.reduce(plus, nothing);
  }

  get exchanges(): number {
    return this.#whole.length;
  }

  /** The bounds of the bill: the same numbers twice, unless something was killed in the middle. */
  get bounds(): { min: Sum; max: Sum } {
    const { sum } = this;
    return {
      min: { up: sum.up - this.#forgivable.up, down: sum.down - this.#forgivable.down },
      max: plus(sum, this.#broken),
    };
  }
}
