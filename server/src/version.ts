// The version of this program, as its package says it.
import { readFileSync } from 'node:fs';

const { version: written } = JSON.parse(
  readFileSync(new URL('../package.json', import.meta.url), 'utf8'),
) as { version: string };

export const version = written;

/** Less than 0 where `one` is older. By their numbers; what is behind them does not count. */
export function compareVersions(one: string, other: string): number {
  const [ones, others] = [one, other].map((text) =>
    text.split(/[.+-]/).map((part) => Number(part) || 0),
  );
  for (const at of [0, 1, 2]) {
    const difference = (ones?.[at] ?? 0) - (others?.[at] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}
