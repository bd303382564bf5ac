// How a command shows what it found: aligned lines for people, tab-separated ones or JSON for programs.

import { styleText } from 'node:util';
import { jsonText, visible } from '../../kit/src/visible.ts';

/** The name of a fact, and its values. */
export type Line = readonly [name: string, ...cells: string[]];

export interface Shown {
  /** For `--json`. */
  value: unknown;
  /** For people and pipes: data, on stdout. */
  lines?: readonly Line[];
  /** Printed as it is. */
  text?: string;
  /** A sentence on what was done, for people: on stderr. */
  sentence?: string;
}

/** Tells a person something, beside the data: a line for each, and for each item of a list in it. */
export function notify(...sentences: string[]): void {
  const lines = sentences.flatMap((sentence) => sentence.split(/\n(?=- )/));
  process.stderr.write(lines.map((line) => `${visible(line)}\n`).join(''));
}

/** Data on stdout; the sentence for a person on stderr. */
export function print({ value, lines = [], text, sentence }: Shown, json: boolean): void {
  const { stdout } = process;
  if (sentence) notify(sentence);
  if (json) stdout.write(`${jsonText(value)}\n`);
  else if (text === undefined) stdout.write(textOf(lines, stdout.isTTY));
  else stdout.write(stdout.isTTY ? text.split('\n').map(visible).join('\n') : text);
}

/** Lines as a person reads them on a terminal, or as lines for a pipe. */
export function textOf(lines: readonly Line[], forPeople: boolean): string {
  const shown = lines.map((cells) => cells.map((text) => visible(text) || (forPeople ? '-' : '')));
  return forPeople ? aligned(shown) : shown.map((cells) => `${cells.join('\t')}\n`).join('');
}

/** Columns as wide as their widest cell; the last cell of a line needs no column. */
function aligned(lines: string[][]): string {
  const widths: number[] = [];
  for (const cells of lines) {
    for (const [at, text] of cells.slice(0, -1).entries()) {
      widths[at] = Math.max(widths[at] ?? 0, lengthOf(text));
    }
  }
  const pad = (text: string, at: number) => {
    const padded = text + ' '.repeat(Math.max(0, (widths[at] ?? 0) - lengthOf(text)));
    return at === 0 ? styleText('bold', padded, { stream: process.stdout }) : padded;
  };
  return lines.map((cells) => `${cells.map(pad).join('  ').trimEnd()}\n`).join('');
}

function lengthOf(text: string): number {
  return Array.from(text).length;
}

/** `2027-01-31 12:00Z`; a dash for 0, which stands for never. */
export function timeInWords(seconds: number): string {
  if (seconds === 0) return '-';
  return new Date(seconds * 1000)
    .toISOString()
    .replace('T', ' ')
    .replace(/:\d\d\.\d+Z/, 'Z');
}
