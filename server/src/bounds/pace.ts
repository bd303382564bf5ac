// Pace: work whose amount others choose is done in small pieces, a few in each turn of the event
// loop, so that other work gets its turn.
import { Turns, type Waiter } from '../db/turns.ts';

interface Piece extends Waiter {
  begin: () => void;
}

/**
 * Pieces of one kind, each of them small. Keys (accounts, nodes) take turns, so that one with many
 * pieces delays no other.
 */
export class Pace {
  readonly #perTurn: number;
  readonly #waiting = new Turns<Piece>();
  /** How many pieces may still begin in this turn. */
  #remaining: number;

  constructor(piecesPerTurn: number) {
    this.#perTurn = piecesPerTurn;
    this.#remaining = piecesPerTurn;
  }

  /**
   * Begins a piece, which must not throw: at once if this turn has had few, else in a later turn.
   */
  run(key: string, begin: () => void): void {
    if (this.#remaining === this.#perTurn && this.#waiting.size === 0) setImmediate(this.#nextTurn);
    this.#waiting.push({ key, begin });
    this.#beginSome();
  }

  /** Resolves when a piece may be done. */
  take(key: string): Promise<void> {
    return new Promise((resolve) => this.run(key, resolve));
  }

  #beginSome(): void {
    while (this.#remaining > 0) {
      const piece = this.#waiting.take();
      if (!piece) return;
      this.#remaining -= 1;
      piece.begin();
    }
  }

  readonly #nextTurn = () => {
    this.#remaining = this.#perTurn;
    // Node polls for input between two immediates, not between the pieces of one.
    if (this.#waiting.size > 0) setImmediate(this.#nextTurn);
    this.#beginSome();
  };
}
