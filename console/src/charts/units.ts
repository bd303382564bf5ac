// The units of charts: how one value reads, and the one unit that a whole axis has; pure.
import { bitRate, bytes, columnBytes, columnRate, units } from '../format.ts';

export interface Unit {
  /** A single value, in the unit that suits it. */
  text: (value: number) => string;
  /** The same for a column, where digits stay in their places. */
  cell: (value: number) => string;
  /** The end of the name of a column with plain numbers. */
  column: string;
  /** From small to large: how many of the values one is, and its name. */
  sizes: ReadonlyArray<readonly [size: number, name: string]>;
}

const inThousands = (names: readonly string[]) =>
  names.map((name, step) => [1000 ** step, name] as const);

export const inBytes: Unit = {
  text: bytes,
  cell: columnBytes,
  column: 'bytes',
  sizes: inThousands(units),
};

export const inBitsPerSecond: Unit = {
  text: bitRate,
  cell: columnRate,
  column: 'bits_per_second',
  sizes: inThousands(units.map((name) => `${name.replace(/B$/, 'bit')}/s`)),
};

const wholeNumber = (value: number) => Math.round(value).toLocaleString('en');
export const inCounts: Unit = {
  text: wholeNumber,
  cell: wholeNumber,
  column: '',
  sizes: [[1, '']],
};

const times = [
  [1, 's'],
  [60, 'min'],
  [3600, 'h'],
  [86_400, 'd'],
] as const;

function timeSpan(value: number): string {
  const [size, name] = times.findLast(([size]) => size * 2 <= value) ?? times[0];
  return `${Math.round(value / size)} ${name}`;
}

export const inSeconds: Unit = {
  text: timeSpan,
  cell: timeSpan,
  column: 'seconds',
  sizes: times,
};
