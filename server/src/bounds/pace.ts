// Pace: work whose amount others choose is done in pieces, so many in a turn of the event loop; the rest of the turn is for others.
import { Turns, type Waiter } from '../db/turns.ts';

interface Piece extends Waiter {
  begin: () => void;
}

/** Pieces of one kind, each of them small. Keys (accounts, nodes) have their turns, so that one with many holds up no other. */
export class Pace {
  readonly #maxPerTurn: number;
  readonly #waiting = new Turns<Piece>();
  /** How many may still begin in this turn. */
  #remaining: number;

  constructor(piecesPerTurn: number) {
    this.#maxPerTurn = piecesPerTurn;
    this.#remaining = piecesPerTurn;
  }

  /** Begins a piece, which does not throw: at once where this turn has had few, else in a later one. */
  run(key: string, begin: () => void): void {
    if (this.#remaining === this.#maxPerTurn && this.#waiting.size === 0)
      setImmediate(this.#nextTurn);
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
    this.#remaining = this.#maxPerTurn;
    // Node looks for what has come between two of these, not between the pieces of one.
    if (this.#waiting.size > 0) setImmediate(this.#nextTurn);
    this.#beginSome();
  };
}
