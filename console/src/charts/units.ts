// The units of charts: how one value reads, and the one unit that a whole axis has; pure.
import { bitRate, bytes, units } from '../format.ts';

export interface Unit {
  /** A single value, in the unit that suits it. */
  text: (value: number) => string;
  /** The end of the name of a column with plain numbers. */
  column: string;
  /** From small to large: how many of the values one is, and its name. */
  sizes: ReadonlyArray<readonly [size: number, name: string]>;
}

const inThousands = (names: readonly string[]) =>
  names.map((name, step) => [1000 ** step, name] as const);

export const inBytes: Unit = { text: bytes, column: 'bytes', sizes: inThousands(units) };

export const inBitsPerSecond: Unit = {
  text: bitRate,
  column: 'bits_per_second',
  sizes: inThousands(units.map((name) => `${name.replace(/B$/, 'bit')}/s`)),
};

export const inCounts: Unit = {
  text: (value) => Math.round(value).toLocaleString('en'),
  column: '',
  sizes: [[1, '']],
};

const times = [
  [1, 's'],
  [60, 'min'],
  [3600, 'h'],
  [86_400, 'd'],
] as const;

export const inSeconds: Unit = {
  text: (value) => {
    const [size, name] = times.findLast(([size]) => size * 2 <= value) ?? times[0];
    return `${Math.round(value / size)} ${name}`;
  },
  column: 'seconds',
  sizes: times,
};
