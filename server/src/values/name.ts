// Names of accounts, users, nodes, tokens: one form for all.

/** Letters, digits, `.`, `_`, `@`, `-`; at most 63, the first a letter or digit. */
export const namePattern = '^[A-Za-z0-9][A-Za-z0-9._@-]{0,62}$';

const name = new RegExp(namePattern);

export function isName(text: string): boolean {
  return name.test(text);
}
