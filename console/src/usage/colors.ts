// The colours of servers in charts: by name, so that a server has the same one in each chart and on each day; pure.

/** Of --series-0 to --series-6; the last is that of all others. */
const own_colors = 6;
export const color_of_others = 6;

/** The number of a colour for each server. One whose own colour is taken by another of them has the next that is free. */
export function colorsOf(servers: readonly string[]): Map<string, number> {
  const colors = new Map<string, number>();
  const taken = new Set<number>();
  for (const name of servers.toSorted()) {
    let color = hashOf(name) % own_colors;
    while (taken.has(color) && taken.size < own_colors) color = (color + 1) % own_colors;
    taken.add(color);
    colors.set(name, color);
  }
  return colors;
}

/** FNV-1a, 32 bits. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (const sign of text) hash = Math.imul(hash ^ (sign.codePointAt(0) ?? 0), 0x01000193) >>> 0;
  return hash;
}
