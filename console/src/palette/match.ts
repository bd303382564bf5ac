// How well items match the typed text: the whole name, its beginning, the beginning of a word,
// anywhere in it, or other words.

interface Findable {
  key: string;
  name: string;
  /** Further words that match, in addition to the name. */
  words?: string | undefined;
}

const isLetter = /[\p{L}\p{N}]/u;

function beginsWord(text: string, word: string): boolean {
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + 1)) {
    if (at === 0 || !isLetter.test(text.charAt(at - 1))) return true;
  }
  return false;
}

/** The rank of a match, lower is better; undefined: no match. */
export function fit({ name, words = '' }: Findable, typed: string): number | undefined {
  const text = typed.trim().toLowerCase();
  const typedWords = text.split(/\s+/);
  const lower = name.toLowerCase();
  const all = `${lower} ${words.toLowerCase()}`;
  if (!typedWords.every((word) => all.includes(word))) return undefined;
  if (lower === text) return 0;
  if (lower.startsWith(text)) return 1;
  if (typedWords.every((word) => beginsWord(lower, word))) return 2;
  if (typedWords.every((word) => lower.includes(word))) return 3;
  return typedWords.every((word) => beginsWord(all, word)) ? 4 : 5;
}

/**
 * The matches, the best first; equal ones by how recent they are (by `key`, the last first), then
 * in their order.
 */
export function ranked<T extends Findable>(
  items: readonly T[],
  typed: string,
  recent: readonly string[],
): T[] {
  const place = (key: string) => (recent.includes(key) ? recent.indexOf(key) : recent.length);
  return items
    .flatMap((item) => {
      const how = fit(item, typed);
      return how === undefined ? [] : [{ item, how, place: place(item.key) }];
    })
    .sort((a, b) => a.how - b.how || a.place - b.place)
    .map(({ item }) => item);
}
