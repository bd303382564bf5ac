// How well things fit what is typed: the whole name, its beginning, the beginning of a word, anywhere in it, or words about it.

interface Findable {
  key: string;
  name: string;
  /** Besides the name, what finds it. */
  words?: string | undefined;
}

const isLetter = /[\p{L}\p{N}]/u;

function beginsWord(text: string, word: string): boolean {
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + 1)) {
    if (at === 0 || !isLetter.test(text.charAt(at - 1))) return true;
  }
  return false;
}

/** The lower the better; undefined: it does not fit. */
export function fit({ name, words = '' }: Findable, typed: string): number | undefined {
  const text = typed.trim().toLowerCase();
  const asked = text.split(/\s+/);
  const lower = name.toLowerCase();
  const all = `${lower} ${words.toLowerCase()}`;
  if (!asked.every((word) => all.includes(word))) return undefined;
  if (lower === text) return 0;
  if (lower.startsWith(text)) return 1;
  if (asked.every((word) => beginsWord(lower, word))) return 2;
  if (asked.every((word) => lower.includes(word))) return 3;
  return asked.every((word) => beginsWord(all, word)) ? 4 : 5;
}

/** Those that fit, the best first; of those that fit alike the recent ones (by `key`, the last first), then in their order. */
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
