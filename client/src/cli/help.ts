// The text of --help, from the table of commands.

import { terminalWidth, wrapped } from '../../../kit/src/cli/wrapped.ts';
import { type Command, optionsOf } from './command.ts';
import type { Option } from './options.ts';

/** Below the commands, in --help and in the manual page. */
export const notes = `
EXW_URL          where the service is
EXW_VARIANT      current or earlier
EXW_TOKEN_FILE   a file that holds the API token
EXW_TOKEN        the API token itself, for CI systems that keep secrets in variables
EXW_… come before the stored login. Times: +8h, +30d, 2027-01-31, 2027-01-31T12:00Z or epoch seconds.
Off a terminal, lists are tab-separated, without a header and with plain numbers.
`;

/** How a command is called: `exw authlist add [options] [ip]`. */
export function usageOf({ name, arguments: own = {}, verbatim }: Command): string {
  const words = Object.entries(own).map(([word, { optional, many }]) => {
    const text = `${word}${many ? '...' : ''}`;
    return optional ? `[${text}]` : `<${text}>`;
  });
  return ['exw', name, '[options]', ...(verbatim ? ['--'] : []), ...words].join(' ');
}

/** The commands in their groups. */
export function overview(groups: Readonly<Record<string, readonly Command[]>>): string {
  const widest = Math.max(...Object.values(groups).flatMap((some) => some.map(lengthOfName)));
  const sections = Object.entries(groups).map(([title, some]) => {
    const lines = some.map(({ name, summary }): [string, string] => [name, summary]);
    return section(title, lines, widest);
  });
  return fitting(`Usage: exw <command> [options]
${sections.join('')}
Examples:
  exw login --url https://api.example.com
  exw run -- curl https://www.example.com/
  exw authlist add 203.0.113.7 --expiry +30d

"exw <command> --help" says more.
${notes}`);
}

const lengthOfName = ({ name }: Command) => name.length;

const fitting = (text: string) => wrapped(text, terminalWidth());

export function helpOf(command: Command): string {
  const given = Object.entries(command.arguments ?? {});
  const words = given.map(([name, { summary }]): [string, string] => [name, summary]);
  const { summary, notes: more, examples = [] } = command;
  return fitting(
    [
      `Usage: ${usageOf(command)}\n\n${summary}\n`,
      section('Arguments', words),
      section('Options', Object.entries(optionsOf(command)).map(optionLine)),
      more === undefined ? '' : `\n${more}\n`,
      examples.length === 0 ? '' : `\nExamples:\n${examples.map((one) => `  ${one}\n`).join('')}`,
    ].join(''),
  );
}

/** An option's flags, and what it does. */
export function optionLine([name, { short, value, summary, choices, required }]: [
  string,
  Option,
]): [string, string] {
  const flag = `${short ? `-${short}, ` : ''}--${name}${value ? ` ${value}` : ''}`;
  const more = [choices?.join(', '), required ? 'required' : undefined].filter(Boolean);
  return [flag, `${summary}${more.length > 0 ? ` (${more.join('; ')})` : ''}`];
}

/** Lines of two columns below a title; nothing where there are none. */
function section(title: string, lines: Array<[string, string]>, least = 0): string {
  if (lines.length === 0) return '';
  const width = Math.max(least, ...lines.map(([first]) => first.length));
  const text = lines.map(([first, second]) => `  ${first.padEnd(width)}  ${second}\n`);
  return `\n${title}:\n${text.join('')}`;
}
