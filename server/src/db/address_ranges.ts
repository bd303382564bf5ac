// The addresses of a network in a column of canonical texts: index ranges that contain all of them,
// and some others that are filtered out.
import { setImmediate as turn } from 'node:timers/promises';
import type { Network } from '../../../kit/src/address.ts';
import { addressInNetworks } from '../values/address.ts';
import { slice } from './slices.ts';

/** Texts: from <= text < to. */
export interface TextRange {
  from: string;
  to: string;
}

/** The character after this one. */
const after = { '.': '/', ':': ';' } as const;

/**
 * Ranges that contain each address of the network once. The digit groups that the network fixes
 * begin the text of its addresses; in IPv6, "::" may stand for zeros among them.
 */
export function textRanges([base, bits]: Network): TextRange[] {
  const isIpv4 = base.kind() === 'ipv4';
  const [separator, radix, width] = isIpv4 ? (['.', 10, 8] as const) : ([':', 16, 16] as const);
  const parts = isIpv4 ? base.toByteArray() : (base as { parts: number[] }).parts;
  const text = base.toString();
  if (bits === parts.length * width) return [{ from: text, to: `${text}!` }];
  const begin = (groups: readonly number[]) =>
    groups.map((part) => part.toString(radix) + separator).join('');
  const allOf = (beginning: string) => ({
    from: beginning,
    to: beginning.slice(0, -1) + after[separator],
  });
  const whole = Math.floor(bits / width);
  const beginning = begin(parts.slice(0, whole));
  const low = parts[whole] ?? 0;
  const high = low + 2 ** (width - (bits % width)) - 1;
  const [first, last] = [low.toString(radix), high.toString(radix)];
  const isOrdered = bits % width > 0 && low > 0 && first.length === last.length;
  const ranges = [
    isOrdered
      ? { from: beginning + first, to: beginning + last + after[separator] }
      : allOf(beginning),
  ];
  if (isIpv4) return ranges;
  for (let at = 0; at < whole; at += 1) {
    const isStart = parts[at] === 0 && (at === 0 || parts[at - 1] !== 0);
    // A single zero is not shortened to "::".
    if (!isStart || (at + 1 < whole && parts[at + 1] !== 0)) continue;
    ranges.push(allOf(`${begin(parts.slice(0, at)) || ':'}:`));
  }
  return ranges;
}

/**
 * Where a range continues after a row, if each address has one row: no address text sorts in
 * between.
 */
export const startOf = ({ from }: TextRange, lastRow: { ip: string } | undefined) =>
  lastRow ? `${lastRow.ip}!` : from;

/**
 * The rows whose address is in the network, at most `maxRows`, in no order. `read` returns up to
 * `slice` rows of a range after a row, in the order of an index. Between two reads, other work gets
 * a turn of the event loop.
 */
export async function findWithin<R extends { ip: string }>(
  network: Network,
  maxRows: number,
  read: (range: TextRange, lastRow: R | undefined, slice: number) => Promise<R[]>,
): Promise<R[]> {
  const matches: R[] = [];
  for (const range of textRanges(network)) {
    for (let lastRow: R | undefined; ; ) {
      const rows: R[] = await read(range, lastRow, slice);
      matches.push(...rows.filter(({ ip }) => addressInNetworks(ip, [network])));
      if (matches.length >= maxRows) return matches.slice(0, maxRows);
      if (rows.length < slice) break;
      lastRow = rows.at(-1);
      await turn();
    }
  }
  return matches;
}
