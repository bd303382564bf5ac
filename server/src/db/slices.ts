// Slices: a long list read a piece at a time, with a turn of the event loop between two pieces.

/** As many rows as are read in one turn of the event loop. */
export const slice = 500;

/** The ids of a slice: after < id <= to. `isLast`: no row comes after it. */
export interface Ids {
  after: number;
  to: number;
  isLast: boolean;
}
