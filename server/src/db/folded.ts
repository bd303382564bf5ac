// The texts that searches compare: in lower case, and composed. SQLite has the function from here,
// PostgreSQL one of the same name.

/** "O" and a combining diaeresis is "ö", "МОСКВА" is "москва"; both sigmas are one letter. */
export function folded(text: string): string {
  return text.normalize('NFC').toLowerCase().replaceAll('ς', 'σ');
}

const isAscii = /^[\0-\x7f]*$/;

/**
 * The SQL function for texts that are compared with this one. Of letters that are not ASCII only
 * `folded` knows the small ones; `lower` is the faster one.
 */
export function foldOf(text: string): 'lower' | 'folded' {
  return isAscii.test(text) ? 'lower' : 'folded';
}
