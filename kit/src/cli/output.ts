// The output of a command: aligned tables for people, tab-separated lines or JSON for programs.
import { once } from 'node:events';
import { jsonText, visible } from '../visible.ts';
import { bytesInWords, columnBytes, pastInWords, timeInWords } from './values.ts';
import { terminalWidth, wrapped } from './wrapped.ts';

export type Row = object;

/** The text of a value in a cell, for a person or for a program. */
export type InWords = (value: never, forPeople: boolean) => string;

/**
 * The kind of a value. A `past` has happened: on a terminal it is `4 minutes ago`. A `day` has no
 * time of day there, as when a period begins. A `state` is coloured by how good it is, an `alarm`
 * when it is on. When the terminal is too narrow, a `detail` is left out first and a `state` last;
 * an `event`, which says what happened, stays.
 */
type Kind =
  | 'text'
  | 'detail'
  | 'event'
  | 'state'
  | 'alarm'
  | 'time'
  | 'past'
  | 'day'
  | 'bytes'
  | 'list'
  | InWords;

/** A title, the path of the value in a row (`period.usage`), and the kind of value. */
type Spelled = readonly [title: string, path: string, kind?: Kind];

/** A column, spelled out; or the name of a text field that is also the title: `port_base`. */
export type Column = string | Spelled;

/** The text for an empty list. */
export interface Empty {
  /** The records of the list, in the plural: `users`. */
  noun: string;
  /** The next step, usually a command that adds one. */
  next?: string | undefined;
  /** The filters of this list: `--user alice`. */
  filters?: readonly string[];
}

export type Part =
  /** `empty`: for people, when there are no rows; undefined: a sentence next to it says so. */
  | { rows: readonly Row[]; columns: readonly Column[]; empty: Empty | undefined }
  | { record: Row; columns: readonly Column[] }
  /** Printed byte for byte; on a terminal with its steering characters escaped. */
  | { text: string };

/**
 * A document for programs, printed as it comes, with and without `--json`.
 * Its values come from `jsonText`.
 */
export interface Document {
  pieces: AsyncIterable<string>;
}

/** Prints a document. Errors: those of a piece, after the pieces before it are printed. */
export async function printDocument({ pieces }: Document): Promise<void> {
  const { stdout } = process;
  for await (const piece of pieces) {
    if (!stdout.write(piece)) await once(stdout, 'drain');
  }
}

export interface Shown {
  /** For `--json`. */
  value: unknown;
  /** For people and pipes: data, on stdout. */
  parts: readonly Part[];
  /** In place of the parts: a file, as it is. */
  bytes?: Buffer;
  /** A sentence on what was done, for people: on stderr. */
  sentence?: string;
  /** The exit code, when it is not 0. */
  code?: number;
}

/** `1 fault`, `2 faults`. */
export function counted(count: number, singular: string, plural = `${singular}s`): string {
  return `${count} ${count === 1 ? singular : plural}`;
}

/** A list; `empty` as in a part. */
export function table(
  value: readonly Row[],
  columns: readonly Column[],
  empty: Empty | undefined,
): Shown {
  return { value, parts: [{ rows: value, columns, empty }] };
}

/** The same of the newest `limit` rows: a sentence says so where there may be more. */
export function newest(
  rows: readonly Row[],
  limit: number,
  columns: readonly Column[],
  empty: Empty,
): Shown {
  const shown = table(rows, columns, empty);
  if (rows.length < limit) return shown;
  return { ...shown, sentence: `These are the newest ${limit}; --limit lists more.` };
}

/** The same for filtered lists: an empty one names these filters. */
export function narrowed(shown: Shown, filters: readonly string[]): Shown {
  const parts = shown.parts.map((part) =>
    'rows' in part && part.empty ? { ...part, empty: { ...part.empty, filters } } : part,
  );
  return { ...shown, parts };
}

/** One record, a line for each field. */
export function record(value: Row, columns: readonly Column[], sentence?: string): Shown {
  return { value, parts: [{ record: value, columns }], ...(sentence ? { sentence } : {}) };
}

/** Something was done, and there is nothing else to show. */
export function done(sentence: string, value: unknown): Shown {
  return { value, parts: [], sentence };
}

/** Prints sentences for people on stderr: a line for each, and for each item of a list in it. */
export function notify(...sentences: string[]): void {
  const { stderr } = process;
  const lines = sentences.flatMap((sentence) => sentence.split(/\n(?=- )/));
  const text = lines.map((line) => `${visible(line)}\n`).join('');
  stderr.write(stderr.isTTY ? wrapped(text, terminalWidth()) : text);
}

/** Prints data on stdout, the sentence on stderr. On a terminal tables are at most `width` wide. */
export function print(shown: Shown, json = false, width?: number): void {
  const { stdout } = process;
  if (shown.sentence) notify(shown.sentence);
  const text = () =>
    stdout.isTTY ? screenOf(shown, width) : shown.parts.map((part) => textOf(part, false)).join('');
  stdout.write(json ? `${jsonText(shown.value)}\n` : (shown.bytes ?? text()));
}

/** All parts as a person reads them. */
export function screenOf({ parts }: Shown, width?: number): string {
  return parts
    .map((part) => textOf(part, true, width))
    .filter(Boolean)
    .join('\n');
}

/** A part as a person reads it on a terminal, or as lines for a pipe. */
export function textOf(part: Part, forPeople: boolean, width = Number.POSITIVE_INFINITY): string {
  if ('text' in part) {
    return forPeople ? part.text.split(/\r?\n/).map(visible).join('\n') : part.text;
  }
  const columns = part.columns.map(spelled);
  if ('record' in part) {
    const lines = columns.map((column) => [column[0], cell(part.record, column, forPeople)]);
    return forPeople ? recordOf(columns, lines) : separated(lines);
  }
  if (!forPeople) {
    return separated(part.rows.map((row) => columns.map((column) => cell(row, column, false))));
  }
  return part.rows.length === 0 ? emptyInWords(part.empty) : tableOf(columns, part.rows, width);
}

/** `No users. Next: exw …`; of a list that was narrowed `No users match --name alice.` */
function emptyInWords(empty: Empty | undefined): string {
  if (!empty) return '';
  const { noun, next, filters = [] } = empty;
  if (filters.length > 0) return `No ${noun} match ${visible(filters.join(' '))}.\n`;
  return `No ${noun}.${next ? ` Next: ${next}` : ''}\n`;
}

/** A line for each field, with its name in bold. */
function recordOf(columns: readonly Spelled[], lines: string[][]): string {
  return aligned(lines, (text, at, line) =>
    at === 0 ? bold(text) : coloured(text, columns[line]?.[2]),
  );
}

/**
 * A table without the columns that there is no room for; its last line names those. Where room is
 * bounded, columns without a value are left out as well. Numbers are under each other.
 */
function tableOf(all: readonly Spelled[], rows: readonly Row[], width: number): string {
  const columns = all.filter(
    (column, at) =>
      at === 0 ||
      width === Number.POSITIVE_INFINITY ||
      rows.some((row) => cell(row, column, true) !== '-'),
  );
  const lines = rows.map((row) =>
    columns.map((column) => cell(row, column[2] === 'bytes' ? inColumn(column) : column, true)),
  );
  const header = columns.map(([title]) => title.toUpperCase());
  const shownColumns = columnsWithin(columns, [header, ...lines], width);
  const isNumeric = columns.map((column) => isOfNumbers(column, rows));
  const pick = (cells: readonly string[]) => shownColumns.map((at) => cells[at] ?? '');
  const style = (text: string, at: number) => coloured(text, columns[shownColumns[at] ?? 0]?.[2]);
  const [first = '', ...rest] = aligned(
    cut([header, ...lines].map(pick), width),
    (text, at, line) => (line > 0 ? style(text, at) : text),
    (at) => isNumeric[shownColumns[at] ?? 0] === true,
  ).split('\n');
  const hiddenTitles = header.filter((_, at) => !shownColumns.includes(at));
  const note =
    hiddenTitles.length > 0 ? `More columns with --wide: ${hiddenTitles.join(', ')}\n` : '';
  return [bold(first), ...rest].join('\n') + note;
}

const inColumn = ([title, path]: Spelled): Spelled => [title, path, columnBytes];

function isOfNumbers([, path, kind = 'text']: Spelled, rows: readonly Row[]): boolean {
  if (kind === 'bytes') return true;
  if (kind !== 'text' && kind !== 'detail') return false;
  const values = rows.map((row) => valueAt(row, path)).filter((value) => value != null);
  return values.length > 0 && values.every((value) => typeof value === 'number');
}

/**
 * The columns that there is room for: the least important are left out first, from the right; those
 * that fit after all come back.
 */
function columnsWithin(columns: readonly Spelled[], lines: string[][], width: number): number[] {
  const remaining = [...columns.keys()];
  const wide = columns.map((_, at) => widest(lines, at));
  const isOver = (more: readonly number[] = []) =>
    [...remaining, ...more].reduce((sum, at) => sum + (wide[at] ?? 0) + 2, -2) > width;
  const hidden: number[] = [];
  const ranks = columns.map(([, , kind], at) => (at === 0 ? ranked.length : rankOf(kind)));
  for (let rank = 0; rank < ranked.length && isOver(); rank++) {
    for (const at of [...remaining].reverse()) {
      if (ranks[at] === rank && isOver())
        hidden.push(...remaining.splice(remaining.indexOf(at), 1));
    }
  }
  for (const at of hidden.reverse()) if (!isOver([at])) remaining.push(at);
  return remaining.sort((a, b) => a - b);
}

/** Kinds in the order in which they are left out; the others never are. */
const ranked: ReadonlyArray<ReadonlyArray<Kind | 'words'>> = [
  ['detail'],
  ['text', 'time', 'past', 'day', 'bytes', 'list'],
  ['state', 'alarm', 'words'],
];

function rankOf(kind: Kind = 'text'): number {
  const rank = ranked.findIndex((kinds) =>
    kinds.includes(typeof kind === 'function' ? 'words' : kind),
  );
  return rank < 0 ? ranked.length : rank;
}

function widest(lines: readonly string[][], at: number): number {
  return lines.reduce((width, cells) => Math.max(width, lengthOf(cells[at] ?? '')), 0);
}

/** Cuts the last column to the room that remains for it. */
function cut(lines: string[][], width: number): string[][] {
  const last = (lines[0]?.length ?? 1) - 1;
  let room = width;
  for (let at = 0; at < last; at++) room -= widest(lines, at) + 2;
  if (widest(lines, last) <= room) return lines;
  return lines.map((cells) => {
    const text = Array.from(cells[last] ?? '');
    if (text.length <= room) return cells;
    return [...cells.slice(0, last), `${text.slice(0, Math.max(room, 8) - 1).join('')}…`];
  });
}

const good = /^(ok|active|yes)\b/;
const doubtful = /^(warn|pending|expiring|unproven)\b/;
const bad = /^(crit|expired|no|fault)\b/;

function coloured(text: string, kind: Kind = 'text'): string {
  if (kind === 'alarm') return /^yes\b/.test(text) ? style('red', text) : text;
  if (kind !== 'state') return text;
  if (good.test(text)) return style('green', text);
  if (doubtful.test(text)) return style('yellow', text);
  return bad.test(text) ? style('red', text) : text;
}

function spelled(column: Column): Spelled {
  return typeof column === 'string' ? [column.replaceAll('_', ' '), column] : column;
}

function bold(text: string): string {
  return style('bold', text);
}

const formats = { bold: [1, 22], green: [32, 39], yellow: [33, 39], red: [31, 39] } as const;

/** `hasColors` respects NO_COLOR and dumb terminals. */
function style(format: keyof typeof formats, text: string): string {
  const { stdout } = process;
  const [on, off] = formats[format];
  return stdout.isTTY && stdout.hasColors() ? `\x1b[${on}m${text}\x1b[${off}m` : text;
}

function separated(lines: string[][]): string {
  return lines.map((cells) => `${cells.join('\t')}\n`).join('');
}

type Style = (text: string, at: number, line: number) => string;

/** Columns as wide as their widest cell; the digits of numbers are under each other. */
function aligned(
  lines: string[][],
  styled: Style,
  isNumeric: (at: number) => boolean = () => false,
): string {
  const widths = (lines[0] ?? []).map((_, at) => widest(lines, at));
  return lines
    .map((cells, line) => {
      const padded = cells.map((text, at) => {
        const more = ' '.repeat((widths[at] ?? 0) - lengthOf(text));
        const shown = styled(text, at, line);
        return isNumeric(at) ? more + shown : shown + more;
      });
      return `${padded.join('  ').trimEnd()}\n`;
    })
    .join('');
}

function lengthOf(text: string): number {
  return Array.from(text).length;
}

function valueAt(row: Row, path: string): unknown {
  let value: unknown = row;
  for (const name of path.split('.'))
    value = (value as Record<string, unknown> | null | undefined)?.[name];
  return value;
}

function cell(row: Row, [, path, kind = 'text']: Spelled, forPeople: boolean): string {
  const text = textIn(valueAt(row, path), kind, forPeople);
  return text === '' && forPeople ? '-' : text;
}

function textIn(value: unknown, kind: Kind, forPeople: boolean): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (forPeople && kind === 'bytes') return bytesInWords(value as number);
  if (forPeople && kind === 'time') return timeInWords(value as number);
  if (forPeople && kind === 'past') return pastInWords(value as number);
  if (forPeople && kind === 'day') return timeInWords(value as number).split(' ')[0] ?? '';
  if (kind === 'list') return visible((value as string[]).join(','));
  if (typeof kind === 'function') return visible(kind(value as never, forPeople));
  return visible(typeof value === 'object' ? JSON.stringify(value) : String(value));
}
