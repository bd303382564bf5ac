// The text of --help, from the table of commands.
import { type Command, type Option, optionsOf } from './command.ts';

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

/** All commands, or those of a noun. */
export function overview(commands: readonly Command[]): string {
  const lines = commands.map(({ name, summary }): [string, string] => [name, summary]);
  return `Usage: exw <command> [options]
${section('Commands', lines)}
"exw <command> --help" says more.
${notes}`;
}

export function helpOf(command: Command): string {
  const given = Object.entries(command.arguments ?? {});
  const words = given.map(([name, { summary }]): [string, string] => [name, summary]);
  return [
    `Usage: ${usageOf(command)}\n\n${command.summary}\n`,
    section('Arguments', words),
    section('Options', Object.entries(optionsOf(command)).map(optionLine)),
    command.notes === undefined ? '' : `\n${command.notes}\n`,
  ].join('');
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
function section(title: string, lines: Array<[string, string]>): string {
  if (lines.length === 0) return '';
  const width = Math.max(...lines.map(([first]) => first.length));
  const text = lines.map(([first, second]) => `  ${first.padEnd(width)}  ${second}\n`);
  return `\n${title}:\n${text.join('')}`;
}
