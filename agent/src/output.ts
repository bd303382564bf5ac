// How a command shows what it found: aligned lines for people, tab-separated ones or JSON for programs.
import { styleText } from 'node:util';

/** What a line is about, and what is said of it. */
export type Line = readonly [name: string, ...cells: string[]];

export interface Shown {
  /** For `--json`. */
  value: unknown;
  /** For people and pipes: data, on stdout. */
  lines?: readonly Line[];
  /** Printed as it is. */
  text?: string;
  /** What was done, for people: on stderr. */
  sentence?: string;
}

export function print({ value, lines = [], text, sentence }: Shown, json: boolean): void {
  const { stdout, stderr } = process;
  if (sentence) stderr.write(`${sentence}\n`);
  if (json) stdout.write(`${JSON.stringify(value, null, 2)}\n`);
  else stdout.write(text ?? textOf(lines, stdout.isTTY));
}

/** Lines as a person reads them on a terminal, or as a pipe does. */
export function textOf(lines: readonly Line[], forPeople: boolean): string {
  const width = Math.max(0, ...lines.map(([name]) => name.length));
  return lines
    .map(([name, ...cells]) => {
      const said = cells.map(visible);
      if (!forPeople) return [name, ...said].join('\t');
      const title = styleText('bold', name.padEnd(width), { stream: process.stdout });
      return [title, ...said.map((cell) => cell || '-')].join('  ');
    })
    .map((line) => `${line}\n`)
    .join('');
}

/** Control characters as escapes: what others wrote must not steer the terminal, nor break a line. */
function visible(text: string): string {
  return text.replace(/\p{Cc}/gu, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return `\\x${code.toString(16).padStart(2, '0')}`;
  });
}

/** `2027-01-31 12:00Z` for people. */
export function timeInWords(seconds: number): string {
  return new Date(seconds * 1000)
    .toISOString()
    .replace('T', ' ')
    .replace(/:\d\d\.\d+Z/, 'Z');
}
