// The recent choices of a user in the palette, in this tab only.
import { inTab } from '../stored.ts';

const maxKeys = 5;
const nameOf = (who: string) => `exitward-recent ${who}`;

/** Keys of items, the last one first. */
export function recentKeys(who: string): string[] {
  const stored: unknown = JSON.parse(inTab.get(nameOf(who)) ?? '[]');
  return Array.isArray(stored) ? stored.map(String) : [];
}

export function remember(who: string, key: string): void {
  const others = recentKeys(who).filter((recentKey) => recentKey !== key);
  inTab.set(nameOf(who), JSON.stringify([key, ...others].slice(0, maxKeys)));
}
