// Columns that hold JSON. A column with other content must not make other rows fail.

/** The value of a column; its text if that is not JSON, so that the receiver can report it. */
export function storedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** The items of a list in a column that can be parsed; none if it holds no list. */
export function storedList<T>(text: string, isItem: (value: unknown) => value is T): T[] {
  const value = storedJson(text);
  return Array.isArray(value) ? value.filter(isItem) : [];
}
