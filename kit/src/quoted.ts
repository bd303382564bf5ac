// Quoted texts: a client's text in a message, in quotes, control characters escaped, cut when long.

const longest = 80;

/** The text in double quotes, at most 80 of its characters. */
export function quoted(text: string): string {
  return JSON.stringify(text.length > longest ? `${text.slice(0, longest)}…` : text);
}
