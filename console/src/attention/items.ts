// The things that need attention, in the overviews of accounts and operators, the worst first.

export interface Item {
  key: string;
  tone: 'bad' | 'warn' | 'note';
  sentence: string;
  /** The page that fixes it; none if only the provider can. */
  link?: { path: string; text: string };
}

/** The most names in a sentence; the first ones of a list are enough. */
export const maxNamed = 4;

/** "a, b, c and 2 more"; `all`: how many there are, if only the first ones are known. */
export function named(names: readonly string[], all = names.length): string {
  const shown = all > maxNamed ? names.slice(0, maxNamed - 1) : names;
  const others = all - shown.length;
  if (others > 0) return `${shown.join(', ')} and ${others.toLocaleString('en')} more`;
  return shown.length < 2 ? shown.join('') : `${shown.slice(0, -1).join(', ')} and ${shown.at(-1)}`;
}

/** The words for a status of exit IPs: of one, and of several. */
export const exitFaults = {
  crit: ['exit IP is down', 'exit IPs are down'],
  warn: ['exit IP is degraded', 'exit IPs are degraded'],
  unknown: ['exit IP has no recent check', 'exit IPs have no recent check'],
} satisfies Record<string, [string, string]>;

const order = { bad: 0, warn: 1, note: 2 };

export function worstFirst(items: readonly Item[]): Item[] {
  return items.toSorted((a, b) => order[a.tone] - order[b.tone]);
}
