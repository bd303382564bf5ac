// Reads a command line against the table of commands.
import { type ParseArgsConfig, parseArgs } from 'node:util';
import { quoted } from '../quoted.ts';
import { similar } from '../similar.ts';
import type { Command, Given } from './command.ts';
import { UsageFault } from './failures.ts';
import {
  type Argument,
  type confirmOption,
  type helpOption,
  type jsonOption,
  type Option,
  type Options,
  type OptionValues,
  type tableOptions,
  usageOfArguments,
} from './options.ts';

export interface Parsed {
  given: Given<Record<string, never>, Record<string, never>>;
  /** The values of all options, those that many commands have with their types. */
  common: Partial<
    OptionValues<typeof helpOption & typeof jsonOption & typeof tableOptions & typeof confirmOption>
  > &
    Record<string, unknown>;
  /** The filters as they were written: `--user alice`. */
  filters: string[];
}

/** The command that these words begin with, and the words after it. */
export function findCommand<Session>(
  commands: ReadonlyArray<Command<Session>>,
  words: readonly string[],
): { command: Command<Session>; rest: string[] } | undefined {
  for (const length of [2, 1]) {
    const name = words.slice(0, length).join(' ');
    const command = commands.find((candidate) => candidate.name === name);
    if (command) return { command, rest: words.slice(length) };
  }
  return undefined;
}

/**
 * The values that were given; undefined for --help. `options`: all that the command has.
 * Errors: a usage fault that names what is wrong.
 */
export function parse(
  command: Words,
  options: Options,
  rest: readonly string[],
): Parsed | undefined {
  const { ownWords, verbatim } = divide(command, rest);
  const hasArguments = command.arguments !== undefined && !command.verbatim;
  const { values, positionals } = split(ownWords, options, hasArguments);
  if (values.help) return undefined;
  const words = command.verbatim ? verbatim : positionals;
  if (command.verbatim && positionals.length > 0) {
    throw new UsageFault('expected -- before the command to run');
  }
  const read = readOptions(values, options);
  return {
    given: { arguments: readArguments(command, words), options: read },
    common: read as unknown as Parsed['common'],
    filters: Object.entries(values)
      .filter(([name]) => options[name]?.filter)
      .map(([name, text]) => `--${name} ${/\s/.test(String(text)) ? quoted(String(text)) : text}`),
  };
}

/** The part of a command that says which words it takes. */
type Words = Pick<Command<never>, 'arguments' | 'verbatim'>;

/** The program's own words, and those after `--` for a command that leaves them as they are. */
function divide({ verbatim }: Words, rest: readonly string[]) {
  const at = verbatim ? rest.indexOf('--') : -1;
  return at < 0
    ? { ownWords: [...rest], verbatim: [] }
    : { ownWords: rest.slice(0, at), verbatim: rest.slice(at + 1) };
}

type Values = Record<string, string | boolean | undefined>;

function split(args: string[], options: Record<string, Option>, hasArguments: boolean) {
  const config: NonNullable<ParseArgsConfig['options']> = {};
  for (const [name, { value, short }] of Object.entries(options)) {
    config[name] = { type: value ? 'string' : 'boolean', ...(short ? { short } : {}) };
  }
  try {
    const words = withNegatives(args, options);
    const { values, positionals, tokens } = parseArgs({
      args: words,
      options: config,
      allowPositionals: true,
      tokens: true,
    });
    const names = tokens.flatMap((token) =>
      token.kind === 'option' && token.value ? token.name : [],
    );
    const doubled = names.find((name, at) => names.indexOf(name) < at);
    if (doubled !== undefined) throw new UsageFault(`--${doubled}: given twice`);
    return { values: values as Values, positionals };
  } catch (error) {
    if (error instanceof UsageFault) throw error;
    // Its first sentence names the option; the others explain what "--" is.
    const [sentence = ''] = (error as Error).message.split(/\. |\n/);
    const message = sentence
      .replace(
        /^Option '(?:-\w, )?(--[\w-]+)[^']*' argument is ambiguous\.?$/,
        "Option '$1' has a value that begins with a dash; write $1=VALUE",
      )
      .replace(/--([\w-]+) <value>/, (_, name: string) => flagOf(name, options[name]));
    const [, unknown] = /^Unknown option '(--[^'=]*)/.exec(sentence) ?? [];
    const flags = Object.keys(options).map((name) => `--${name}`);
    const suggestion =
      unknown === undefined ? afterDashes(sentence, hasArguments) : similar(unknown, flags);
    throw new UsageFault(message.charAt(0).toLowerCase() + message.slice(1) + suggestion);
  }
}

/** The advice for an argument, such as -5, that was read as an unknown option. */
const afterDashes = (sentence: string, hasArguments: boolean) =>
  hasArguments && /^Unknown option '-[^-]/.test(sentence)
    ? '; an argument that begins with a dash comes last, after --'
    : '';

/** A negative number is the value of the option before it, not an option. */
function withNegatives(args: readonly string[], options: Options): string[] {
  const words: string[] = [];
  for (const word of args) {
    const before = words.at(-1) ?? '';
    const takesValue = options[before.replace(/^--/, '')]?.value !== undefined;
    if (before.startsWith('--') && takesValue && /^-\d/.test(word)) {
      words[words.length - 1] = `${before}=${word}`;
    } else words.push(word);
  }
  return words;
}

const flagOf = (name: string, option: Option | undefined) =>
  `--${name}${option?.value ? ` ${option.value}` : ''}`;

function readArguments(command: Words, words: readonly string[]): Record<string, never> {
  const read: Record<string, unknown> = {};
  const remaining = [...words];
  for (const [name, argument] of Object.entries(command.arguments ?? {})) {
    const texts = remaining.splice(0, argument.many ? remaining.length : 1);
    if (texts.length === 0 && !argument.optional) {
      throw new UsageFault(`missing required argument '${name}'`);
    }
    const values = texts.map((text) => within(`<${name}>`, argument, argument.read, text));
    read[name] = argument.many ? values : values[0];
  }
  // They are not shown: one may be a token.
  if (remaining.length > 0) {
    const expected = usageOfArguments(command.arguments).join(' ') || 'none';
    throw new UsageFault(`too many arguments; expected ${expected}`);
  }
  return read as Record<string, never>;
}

function readOptions(values: Values, options: Record<string, Option>): Record<string, never> {
  const read: Record<string, unknown> = {};
  for (const [name, option] of Object.entries(options)) {
    const text = values[name];
    if (!option.read) read[name] = text === true;
    else if (typeof text === 'string') {
      read[name] = within(`--${name}`, option, option.read, text);
    } else if (option.required) {
      throw new UsageFault(`required option '${flagOf(name, option)}' not specified`);
    }
  }
  return read as Record<string, never>;
}

function within(
  name: string,
  { choices, mayBeBlank }: Argument | Option,
  read: (text: string) => unknown,
  text: string,
): unknown {
  if (choices && !choices.includes(text)) {
    throw new UsageFault(`${name}: expected one of ${choices.join(', ')}`);
  }
  if (text.trim() === '' && !mayBeBlank) throw new UsageFault(`${name}: expected a value`);
  try {
    return read(text);
  } catch (error) {
    if (error instanceof UsageFault) throw new UsageFault(`${name}: ${error.message}`);
    throw error;
  }
}
