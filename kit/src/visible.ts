// Untrusted text on a terminal: it must not steer it, break a line, or pose as other text.

/** Control characters, characters that change the direction of text, and line separators. */
const steering = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu;

/** The text with its steering characters as escapes. */
export function visible(text: string): string {
  return text.replace(steering, (character) => {
    const code = character.charCodeAt(0);
    return code < 0x100 ? `\\x${hex(code, 2)}` : `\\u${hex(code, 4)}`;
  });
}

/** JSON for a program that a person may also look at: its steering characters are escaped. */
export function jsonText(value: unknown, indent = 2): string {
  // Those that `stringify` leaves are inside strings, except its own line breaks.
  return JSON.stringify(value, null, indent).replace(steering, (character) =>
    character === '\n' ? character : `\\u${hex(character.charCodeAt(0), 4)}`,
  );
}

function hex(code: number, digits: number): string {
  return code.toString(16).padStart(digits, '0');
}
