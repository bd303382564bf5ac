// Text of others on a terminal: it must not steer it, break a line, nor read as another text.

/** Control characters, those that turn the direction of text, and the separators of lines. */
const steering = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu;

/** Steering characters as escapes: text of others must not steer the terminal, break a line, nor read as another text. */
export function visible(text: string): string {
  return text.replace(steering, (character) => {
    const code = character.charCodeAt(0);
    return code < 0x100 ? `\\x${hex(code, 2)}` : `\\u${hex(code, 4)}`;
  });
}

/** JSON for a program that a person may be looking at: the same value, with its steering characters escaped. */
export function jsonText(value: unknown, indent = 2): string {
  // Those that `stringify` leaves are inside of strings, but for the ends of its own lines.
  return JSON.stringify(value, null, indent).replace(steering, (character) =>
    character === '\n' ? character : `\\u${hex(character.charCodeAt(0), 4)}`,
  );
}

function hex(code: number, digits: number): string {
  return code.toString(16).padStart(digits, '0');
}
