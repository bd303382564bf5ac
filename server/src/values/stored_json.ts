// Columns that hold JSON. One that holds something else must not take the other rows along.

/** The value of a column; its text where that is not JSON, so that whoever is sent it can report it. */
export function storedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** The items of a list in a column that can be read; none where it holds no list. */
export function storedList<T>(text: string, isItem: (value: unknown) => value is T): T[] {
  const value = storedJson(text);
  return Array.isArray(value) ? value.filter(isItem) : [];
}
