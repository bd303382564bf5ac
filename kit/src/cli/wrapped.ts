// Text in lines that fit a width; the rest of a line stands below its own column.

/** The columns of the terminal; 80 where there is none. */
export function terminalWidth(): number {
  return process.stdout.columns || process.stderr.columns || 80;
}

/** Each line broken between words; a word that is too long stays whole. */
export function wrapped(text: string, width: number): string {
  return text
    .split('\n')
    .flatMap((line) => wrapLine(line, width))
    .join('\n');
}

function wrapLine(line: string, width: number): string[] {
  if (line.length <= width) return [line];
  const [begun = ''] = /^ *(?:\S.* {2,})?/.exec(line) ?? [];
  const lead = line.length - line.trimStart().length;
  // A column that leaves too little room next to it has the rest below it.
  const isNarrow = begun.length > lead && begun.length > width * 0.6;
  const indent = ' '.repeat(isNarrow ? lead + 4 : begun.length);
  const lines = isNarrow ? [begun.trimEnd()] : [];
  let current = isNarrow ? indent : begun;
  let isFresh = true;
  for (const word of line.slice(begun.length).split(' ')) {
    if (!isFresh && current.length + 1 + word.length > width) {
      lines.push(current);
      current = indent;
      isFresh = true;
    }
    current += isFresh ? word : ` ${word}`;
    isFresh = false;
  }
  return [...lines, current];
}
