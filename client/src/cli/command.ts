// The parts of a command. Parsing, help and completion all read this, and nothing else.

import type { Shown } from './output.ts';
import type { Session } from './session.ts';
import { span } from './values.ts';

/** A failure that its message explains: exit code 1. */
export class Failure extends Error {}

/** A command line that was not understood: exit code 2. */
export class UsageFault extends Error {}

/** Turns a text into a value. Errors: a usage fault, which the option's or argument's name is put before. */
export type Reader<Value> = (text: string) => Value;

/** The records of the account that a value may be one of; a shell completes it from them. */
export type Known = 'servers' | 'users' | 'addresses' | 'exits' | 'entries';

export interface Argument {
  summary: string;
  known?: Known;
  read: Reader<unknown>;
  optional?: true;
  /** As many as there are; at least one, unless optional. */
  many?: true;
  /** All values that there are. */
  choices?: readonly string[];
}

export interface Option {
  summary: string;
  known?: Known;
  /** The placeholder of the value: `<time>`. A switch has none. */
  value?: string;
  read?: Reader<unknown>;
  short?: string;
  required?: true;
  /** All values that there are. */
  choices?: readonly string[];
}

type ReadBy<One> = One extends { read: Reader<infer Value> } ? Value : never;

/** The values of the arguments, by name. */
type ArgumentValues<Arguments> = {
  [Name in keyof Arguments]: Arguments[Name] extends { many: true }
    ? Array<ReadBy<Arguments[Name]>>
    : Arguments[Name] extends { optional: true }
      ? ReadBy<Arguments[Name]> | undefined
      : ReadBy<Arguments[Name]>;
};

/** The values of the options; of a switch, whether it was given. */
export type OptionValues<Options> = {
  [Name in keyof Options]: Options[Name] extends { read: Reader<infer Value> }
    ? Options[Name] extends { required: true }
      ? Value
      : Value | undefined
    : boolean;
};

export interface Given<Arguments, Options> {
  arguments: ArgumentValues<Arguments>;
  options: OptionValues<Options>;
}

interface Definition<Arguments, Options> {
  /** `whoami`, or noun and verb: `authlist add`. */
  name: string;
  summary: string;
  /** In their order. */
  arguments?: Arguments;
  /** By their long names, without the dashes. */
  options?: Options;
  /** More to know, below the options. */
  notes?: string;
  /** Command lines that a person may begin with, each with all that it says. */
  examples?: readonly string[];
  /** Whether it shows tables, which then fit the terminal; `once`: what it costs is not to be spent again and again. */
  list?: true | 'once';
  /** Whether the first argument comes behind `--`, and everything after it is left as it is. */
  verbatim?: true;
  /** The question to a person before something is destroyed. */
  question?: (given: Given<Arguments, Options>) => string;
  /** Behind the question on a terminal: how many there are, and how to undo it. */
  extent?: (given: Given<Arguments, Options>, session: Session) => Promise<string>;
  /** Returns the output, or the exit code when another program has the last word. */
  run: (given: Given<Arguments, Options>, session: Session) => Promise<Shown | number>;
}

type Arguments = Record<string, Argument>;
type Options = Record<string, Option>;
export type Command = Definition<Arguments, Options>;

/** A command, whose `run` is given what its arguments and options are read as. */
export function command<
  const A extends Arguments = Record<never, Argument>,
  const O extends Options = Record<never, Option>,
>(definition: Definition<A, O>): Command {
  return definition as unknown as Command;
}

/** The options of every command. */
export const everywhere = {
  url: {
    summary: 'where the service is, instead of EXW_URL or the stored login',
    value: '<url>',
    read: String,
  },
  variant: {
    summary: 'the variant of the interface that the service is spoken to in',
    value: '<name>',
    read: String,
    choices: ['current', 'earlier'],
  },
  insecure: { summary: 'send the token over plain http to another machine' },
  json: { summary: 'print JSON, for programs' },
  help: { summary: 'display help for command', short: 'h' },
} as const satisfies Options;

/** The further options of a command with a question. */
export const unasked = {
  yes: { summary: 'do it without being asked', short: 'y' },
} as const satisfies Options;

/** The further options of a command that shows tables. */
export const ofLists = {
  wide: { summary: 'show all columns, also those that the terminal is too narrow for' },
  watch: { summary: 'look again and again, and draw in place, until Ctrl-C' },
  every: {
    summary: 'with --watch: how often; 5s when left out',
    value: '<span>',
    read: span,
  },
} as const satisfies Options;

/** All options of a command, its own first. */
export function optionsOf({ options, question, list }: Command): Options {
  return {
    ...options,
    ...(question ? unasked : {}),
    ...(list === 'once' ? { wide: ofLists.wide } : list ? ofLists : {}),
    ...everywhere,
  };
}
