// The colours of servers in charts, by name, so that a server has the same colour in each chart and
// on each day; pure.

/** The colours --series-0 to --series-5; --series-6 is that of all other servers. */
const ownColors = 6;
export const colorOfOthers = '--series-6';

/** The colour of each server: its own, or if that is in use, the next free one. */
export function colorsOf(servers: readonly string[]): Map<string, string> {
  const colors = new Map<string, string>();
  const usedColors = new Set<number>();
  for (const name of servers.toSorted()) {
    let color = hashOf(name) % ownColors;
    while (usedColors.has(color) && usedColors.size < ownColors) color = (color + 1) % ownColors;
    usedColors.add(color);
    colors.set(name, `--series-${color}`);
  }
  return colors;
}

/** FNV-1a, 32 bits. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (const sign of text) hash = Math.imul(hash ^ (sign.codePointAt(0) ?? 0), 0x01000193) >>> 0;
  return hash;
}
