// Verbs over the API in a short form, and how they become commands of the kit.
import { type Command, commandsWith, type Noun } from '../../../kit/src/cli/command.ts';
import type { Argument, Option, Options } from '../../../kit/src/cli/options.ts';
import type { Document, Shown } from '../../../kit/src/cli/output.ts';
import type { Environment } from '../../../kit/src/settings.ts';
import { AdminApi } from './api.ts';
import { recordsOf } from './completion.ts';
import { type Choice, Given } from './given.ts';

/** The action of a command. Errors: a failure. */
export type Run = (given: Given, api: AdminApi) => Promise<Shown | Document>;

/** Resolves to the question; undefined: no confirmation is needed this time. */
type Ask = (given: Given, api: AdminApi) => Promise<string | undefined>;

export interface Verb {
  /**
   * The verb with its arguments: `create <name>`, `add <account> <servers...>`, `show <account>
   * [server]`.
   */
  usage: string;
  summary: string;
  /** The fields that arguments set, where these have another name. */
  sets?: Readonly<Record<string, string>>;
  required?: readonly Choice[];
  /** Options that narrow the list. */
  filters?: readonly Choice[];
  options?: readonly Choice[];
  /** The confirmation question; `<name>` stands for an argument. */
  question?: string | Ask;
  /** Shown after the question on a terminal: how many records it affects, and how to undo it. */
  extent?: (given: Given, api: AdminApi) => Promise<string>;
  /** Example command lines. */
  examples?: readonly string[];
  /** Whether it shows tables, fitted to the terminal; `once`: it can't be watched. */
  list?: true | 'once';
  run: Run;
}

/** Defines a command that gets the environment. */
export const command = commandsWith<Environment>();

/** A noun with its verbs. */
export function nounOf(noun: string, summary: string, verbs: readonly Verb[]): Noun<Environment> {
  return { noun, summary, commands: verbs.map((verb) => commandOf(verb, noun)) };
}

/** A verb, of a noun or on its own. */
export function commandOf(verb: Verb, noun?: string): Command<Environment> {
  const { usage, summary, required = [], filters = [], options = [], question, extent } = verb;
  const [name = '', ...words] = usage.split(' ');
  const table: Options = Object.fromEntries([
    ...required.map((choice) => optionOf(choice, { required: true })),
    ...filters.map((choice) => optionOf(choice, { filter: true })),
    ...options.map((choice) => optionOf(choice, {})),
  ]);
  const read = (given: { arguments: object; options: object }) =>
    new Given(given.arguments, given.options, table);
  return {
    name: noun === undefined ? name : `${noun} ${name}`,
    summary,
    arguments: Object.fromEntries(words.map((word) => argumentOf(word, noun, verb.sets))),
    options: table,
    ...(verb.list ? { list: verb.list } : {}),
    ...(verb.examples ? { examples: verb.examples } : {}),
    ...(question === undefined
      ? {}
      : {
          question: (given, env) =>
            typeof question === 'string'
              ? read(given).text(question)
              : question(read(given), new AdminApi(env)),
        }),
    ...(extent ? { extent: (given, env) => extent(read(given), new AdminApi(env)) } : {}),
    run: (given, env) => verb.run(read(given), new AdminApi(env)),
  };
}

/** Arguments and options that clear the field when they are empty. */
const notes = new Set(['note', 'text']);

function argumentOf(
  word: string,
  noun: string | undefined,
  sets: Verb['sets'] = {},
): [name: string, argument: Argument] {
  const [, bracket, name = '', dots] = /^([<[])([\w-]+)(\.\.\.)?[>\]]$/.exec(word) ?? [];
  const listName = recordsOf(name, noun);
  const argument = {
    read: String,
    ...(sets[name] ? { field: sets[name] } : {}),
    ...(listName ? { completes: listName } : {}),
    ...(bracket === '[' ? { optional: true as const } : {}),
    ...(notes.has(name) ? { mayBeBlank: true as const } : {}),
    ...(dots ? { many: true as const } : {}),
  };
  return [name, argument];
}

/** `-f, --file <file>`, `--by <hour|day>` or `--dry-run`. */
function optionOf(
  [flags, summary, field, parse = String]: Choice,
  more: Pick<Option, 'required' | 'filter'>,
): [name: string, option: Option] {
  const [, short, name = '', value] = /^(?:-(\w), )?--([\w-]+)(?: (<.*>))?$/.exec(flags) ?? [];
  const choices = value?.includes('|') ? value.slice(1, -1).split('|') : undefined;
  const listName = recordsOf(name);
  const option = {
    summary,
    ...(field === undefined ? {} : { field }),
    ...(short ? { short } : {}),
    ...(value ? { value, read: parse } : {}),
    ...(choices ? { choices } : {}),
    ...(listName ? { completes: listName } : {}),
    ...more,
    ...(notes.has(name) ? { mayBeBlank: true as const } : {}),
  };
  return [name, option];
}
