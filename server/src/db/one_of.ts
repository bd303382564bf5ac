// Lists of texts in a condition: `in ($3, $4, …)` in few sizes, so that few statements are prepared.

const sizes = [1, 8, 64, 512, 4096];

/** The texts, each once, padded with the last to one of a few lengths: as many placeholders as there are. */
export function paddedTexts(texts: readonly string[]): string[] {
  const distinct = [...new Set(texts)];
  const size = sizes.find((one) => one >= distinct.length) ?? distinct.length;
  const last = distinct.at(-1) ?? '';
  return [...distinct, ...Array<string>(size - distinct.length).fill(last)];
}
