// "Did you mean …?" for a word that is nearly a known one.

/** With more edits it is another word. */
const maxEdits = 3;
const minLikeness = 0.4;

/** A line that names the known words nearest to an unknown one; empty when none is near. */
export function similar(word: string, knownWords: readonly string[]): string {
  const words = nearest(word, knownWords);
  if (words.length === 0) return '';
  return `\n(Did you mean ${words.length > 1 ? 'one of ' : ''}${words.join(', ')}?)`;
}

/** The known words nearest to an unknown one, in alphabetical order; none that is too far. */
export function nearest(word: string, knownWords: readonly string[]): string[] {
  const scored = [...new Set(knownWords)]
    .map((name) => ({ name, bare: withoutDashes(name) }))
    .map(({ name, bare }) => ({ name, bare, edits: editsBetween(withoutDashes(word), bare) }))
    .filter(({ bare, edits }) => {
      const length = Math.max(withoutDashes(word).length, bare.length);
      return bare.length > 1 && edits <= maxEdits && (length - edits) / length > minLikeness;
    });
  const least = Math.min(...scored.map(({ edits }) => edits));
  return scored
    .filter(({ edits }) => edits === least)
    .map(({ name }) => name)
    .sort();
}

const withoutDashes = (word: string) => word.replace(/^--/, '');

/** Letters inserted, left out, replaced, or swapped with the next (optimal string alignment). */
function editsBetween(word: string, other: string): number {
  if (Math.abs(word.length - other.length) > maxEdits) return Number.POSITIVE_INFINITY;
  const rows: number[][] = [Array.from({ length: other.length + 1 }, (_, at) => at)];
  const at = (i: number, j: number) => rows[i]?.[j] ?? 0;
  for (let i = 1; i <= word.length; i++) {
    rows[i] = [i];
    for (let j = 1; j <= other.length; j++) {
      const cost = word[i - 1] === other[j - 1] ? 0 : 1;
      const isSwapped =
        i > 1 && j > 1 && word[i - 1] === other[j - 2] && word[i - 2] === other[j - 1];
      const least = Math.min(at(i - 1, j) + 1, at(i, j - 1) + 1, at(i - 1, j - 1) + cost);
      rows[i]?.push(isSwapped ? Math.min(least, at(i - 2, j - 2) + 1) : least);
    }
  }
  return at(word.length, other.length);
}
