// The choices that were made in the palette lately, of one person, in this tab: nothing of them outlives it.

const most = 5;
const nameOf = (who: string) => `exitward-recent ${who}`;

/** Keys of items, the last one first. */
export function recentKeys(who: string): string[] {
  const kept: unknown = JSON.parse(sessionStorage.getItem(nameOf(who)) ?? '[]');
  return Array.isArray(kept) ? kept.map(String) : [];
}

export function remember(who: string, key: string): void {
  const others = recentKeys(who).filter((one) => one !== key);
  sessionStorage.setItem(nameOf(who), JSON.stringify([key, ...others].slice(0, most)));
}
