// How a command shows what it found: aligned tables for people, tab-separated lines or JSON for programs.
import { timeInWords } from './values.ts';

type Row = object;
type Kind = 'text' | 'time' | 'bytes' | 'list';

/** A title, where the value is in a row (`period.usage`), and what kind of value it is. */
export type Column = readonly [title: string, path: string, kind?: Kind];

export type Part =
  | { rows: readonly Row[]; columns: readonly Column[] }
  | { record: Row; columns: readonly Column[] }
  /** Printed as it is, to the last byte; on a terminal it does not steer that. */
  | { text: string };

export interface Shown {
  /** For `--json`. */
  value: unknown;
  /** For people and pipes: data, on stdout. */
  parts: readonly Part[];
  /** In place of the parts: a file, as it is. */
  bytes?: Buffer;
  /** A sentence on what was done, for people: on stderr. */
  sentence?: string;
}

/** A list. */
export function table(value: readonly Row[], columns: readonly Column[]): Shown {
  return { value, parts: [{ rows: value, columns }] };
}

/** One record, a line for each field. */
export function record(value: Row, columns: readonly Column[], sentence?: string): Shown {
  return { value, parts: [{ record: value, columns }], ...(sentence ? { sentence } : {}) };
}

/** Something was done, and there is nothing to show but that. */
export function done(sentence: string, value: unknown): Shown {
  return { value, parts: [], sentence };
}

/** Tells a person something, beside the data: a line for each, and for each item of a list in it. */
export function notify(...sentences: string[]): void {
  const lines = sentences.flatMap((sentence) => sentence.split(/\n(?=- )/));
  process.stderr.write(lines.map((line) => `${visible(line)}\n`).join(''));
}

/** Data on stdout; the sentence for a person on stderr. */
export function print(shown: Shown, json: boolean): void {
  const { stdout } = process;
  if (shown.sentence) notify(shown.sentence);
  const text = () =>
    shown.parts.map((part) => textOf(part, stdout.isTTY)).join(stdout.isTTY ? '\n' : '');
  stdout.write(json ? `${jsonOf(shown.value)}\n` : (shown.bytes ?? text()));
}

/** A part as a person reads it on a terminal, or as lines for a pipe. */
export function textOf(part: Part, forPeople: boolean): string {
  if ('text' in part) {
    return forPeople ? part.text.split(/\r?\n/).map(visible).join('\n') : part.text;
  }
  if ('record' in part) {
    const lines = part.columns.map((column) => [column[0], cell(part.record, column, forPeople)]);
    return forPeople ? aligned(lines, bold) : separated(lines);
  }
  const lines = part.rows.map((row) => part.columns.map((column) => cell(row, column, forPeople)));
  if (!forPeople) return separated(lines);
  if (lines.length === 0) return 'none\n';
  const header = part.columns.map(([title]) => title.toUpperCase());
  const [first = '', ...rest] = aligned([header, ...lines]).split('\n');
  return [bold(first), ...rest].join('\n');
}

/** `hasColors` knows NO_COLOR and dumb terminals. */
function bold(text: string): string {
  const { stdout } = process;
  return stdout.isTTY && stdout.hasColors() ? `\x1b[1m${text}\x1b[22m` : text;
}

function separated(lines: string[][]): string {
  return lines.map((cells) => `${cells.join('\t')}\n`).join('');
}

/** Columns as wide as their widest cell. */
function aligned(lines: string[][], styleFirst = (text: string) => text): string {
  const widths: number[] = [];
  for (const cells of lines) {
    for (const [at, text] of cells.entries())
      widths[at] = Math.max(widths[at] ?? 0, lengthOf(text));
  }
  const pad = (text: string, at: number) => {
    const padded = text + ' '.repeat((widths[at] ?? 0) - lengthOf(text));
    return at === 0 ? styleFirst(padded) : padded;
  };
  return lines.map((cells) => `${cells.map(pad).join('  ').trimEnd()}\n`).join('');
}

function lengthOf(text: string): number {
  return Array.from(text).length;
}

function cell(row: Row, [, path, kind = 'text']: Column, forPeople: boolean): string {
  let value: unknown = row;
  for (const name of path.split('.'))
    value = (value as Record<string, unknown> | null | undefined)?.[name];
  const text = textIn(value, kind, forPeople);
  return text === '' && forPeople ? '-' : text;
}

function textIn(value: unknown, kind: Kind, forPeople: boolean): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (forPeople && kind === 'bytes') return bytesInWords(value as number);
  if (forPeople && kind === 'time') return timeInWords(value as number);
  if (kind === 'list') return visible((value as string[]).join(','));
  return visible(typeof value === 'object' ? JSON.stringify(value) : String(value));
}

/** Control characters, those that turn the direction of text, and the separators of lines. */
const steering = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu;

/** Steering characters as escapes: text of others must not steer the terminal, break a line, nor read as another text. */
function visible(text: string): string {
  return text.replace(steering, (character) => {
    const code = character.charCodeAt(0);
    return code < 0x100 ? `\\x${hex(code, 2)}` : `\\u${hex(code, 4)}`;
  });
}

/** JSON for a program that a person may be looking at: the same value, with its steering characters escaped. */
export function jsonOf(value: unknown, indent = 2): string {
  // Those that `stringify` leaves are inside of strings, but for the ends of its own lines.
  return JSON.stringify(value, null, indent).replace(steering, (character) =>
    character === '\n' ? character : `\\u${hex(character.charCodeAt(0), 4)}`,
  );
}

function hex(code: number, digits: number): string {
  return code.toString(16).padStart(digits, '0');
}

/** Three digits that matter, in decimal units: `1.25 TB`. Rounded before the unit is chosen, so that 999,999 bytes are `1 MB`. */
function bytesInWords(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB', 'PB', 'EB'];
  const rounded = Number(Math.round(bytes).toPrecision(3));
  const step = Math.min(units.length - 1, Math.floor(Math.log10(rounded || 1) / 3));
  return `${Number((rounded / 1000 ** step).toPrecision(3))} ${units[step]}`;
}
