// Slices: a long list read a piece at a time, with a turn of the event loop between two pieces.
import { setImmediate as turn } from 'node:timers/promises';

/** As many rows as are read in one turn of the event loop. */
export const slice = 500;

/** The ids of a slice: after < id <= to. `isLast`: no row comes after it. */
export interface Ids {
  after: number;
  to: number;
  isLast: boolean;
}

/** Rows one after another, for work on each; after some, others have a turn of the event loop. */
export async function* inTurns<T>(rows: readonly T[]): AsyncGenerator<T, void, void> {
  for (const [at, row] of rows.entries()) {
    if (at > 0 && at % 100 === 0) await turn();
    yield row;
  }
}
