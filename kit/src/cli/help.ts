// The text of --help, from the table of commands.
import { type Command, type Noun, optionsOf, type Program } from './command.ts';
import { type Option, usageOfArguments } from './options.ts';
import { spanUnits, timeUnits } from './values.ts';
import { terminalWidth, wrapped } from './wrapped.ts';

/** How a command is called: `exw authlist add [options] [ip]`. */
export function usageOf<Session>(
  { name: program }: Pick<Program<Session>, 'name'>,
  { name, arguments: commandArguments, verbatim }: Command<Session>,
): string {
  const words = usageOfArguments(commandArguments);
  return [program, name, '[options]', ...(verbatim ? ['--'] : []), ...words].join(' ');
}

/** All commands in their groups, or those of one noun. */
export function overview<Session>(program: Program<Session>, noun?: Noun<Session>): string {
  const { name, summary, examples, notes } = program;
  if (noun) {
    const lines = noun.commands.map((command): Line => [command.name, command.summary]);
    return fitting(
      `Usage: ${name} ${noun.noun} <command> [options]\n\n${noun.summary}\n${section('Commands', lines)}${more(`${name} ${noun.noun}`)}`,
    );
  }
  const sections = Object.entries(program.groups).map(([title, entries]): [string, Line[]] => [
    title,
    entries.map((entry): Line => ['noun' in entry ? entry.noun : entry.name, entry.summary]),
  ]);
  const widest = Math.max(...sections.flatMap(([, lines]) => lines.map(([first]) => first.length)));
  return fitting(
    [
      `Usage: ${name} <command> [options]\n\n${summary}\n`,
      ...sections.map(([title, lines]) => section(title, lines, widest)),
      examplesOf(examples),
      more(name),
      `\n${notes.trim()}\n`,
    ].join(''),
  );
}

const more = (words: string) => `\nRun "${words} <command> --help" for details.\n`;

const fitting = (text: string) => wrapped(text, terminalWidth());

const examplesOf = (examples: readonly string[]) =>
  examples.length === 0 ? '' : `\nExamples:\n${examples.map((line) => `  ${line}\n`).join('')}`;

export function helpOf<Session>(program: Program<Session>, command: Command<Session>): string {
  const words = Object.entries(command.arguments ?? {}).flatMap(([name, { summary }]): Line[] =>
    summary === undefined ? [] : [[name, summary]],
  );
  const { summary, notes, examples = [] } = command;
  return fitting(
    [
      `Usage: ${usageOf(program, command)}\n\n${summary}\n`,
      section('Arguments', words),
      section('Options', Object.entries(optionsOf(program, command)).map(optionLine)),
      section('Units', unitLines(program, command)),
      notes === undefined ? '' : `\n${notes}\n`,
      examplesOf(examples),
    ].join(''),
  );
}

type Line = [first: string, second: string];

/** The units that the values of these options may have. */
function unitLines<Session>(program: Program<Session>, command: Command<Session>): Line[] {
  const values = Object.values(optionsOf(program, command)).map(({ value }) => value);
  const units = { '<time>': timeUnits, '<span>': spanUnits, ...program.units };
  return Object.entries(units).filter(([placeholder]) => values.includes(placeholder));
}

/** An option's flags, and what it does. */
export function optionLine([name, { short, value, summary, choices, required }]: [
  string,
  Option,
]): Line {
  const flag = `${short ? `-${short}, ` : ''}--${name}${value ? ` ${value}` : ''}`;
  // A placeholder may name all values itself: `<hour|day>`.
  const named = value?.includes('|') ? undefined : choices?.join(', ');
  const more = [named, required ? 'required' : undefined].filter(Boolean);
  return [flag, `${summary}${more.length > 0 ? ` (${more.join('; ')})` : ''}`];
}

/** Lines of two columns below a title; empty without lines. */
function section(title: string, lines: Line[], least = 0): string {
  if (lines.length === 0) return '';
  const width = Math.max(least, ...lines.map(([first]) => first.length));
  const text = lines.map(([first, second]) => `  ${first.padEnd(width)}  ${second}\n`);
  return `\n${title}:\n${text.join('')}`;
}
