// The arguments and options of a command: how each is read, and those that many commands have.
import { span } from './values.ts';

/** Turns a text into a value. Errors: a usage fault, whose message follows the option's name. */
export type Reader<Value> = (text: string) => Value;

export interface Argument {
  summary?: string;
  /** As of an option. */
  field?: string;
  /** The records that its value names; a shell completes it from them. */
  known?: string;
  read: Reader<unknown>;
  optional?: true;
  /** Whether an empty text is a value: it takes something away. */
  mayBeBlank?: true;
  /** Takes all words that remain; at least one, unless optional. */
  many?: true;
  /** All possible values. */
  choices?: readonly string[];
}

/** As usage shows them: `<account> [name...]`. */
export function usageOfArguments(given: Record<string, Argument> = {}): string[] {
  return Object.entries(given).map(([name, { optional, many }]) => {
    const text = `${name}${many ? '...' : ''}`;
    return optional ? `[${text}]` : `<${text}>`;
  });
}

export interface Option {
  summary: string;
  /** The records that its value names; a shell completes it from them. */
  known?: string;
  /**
   * The field of the request that it sets, `expiry`, or `limits.services` inside of another: errors
   * about that field name the option. Without one it is named for the field of its own name.
   */
  field?: string;
  /** The placeholder of the value: `<time>`. A switch has none. */
  value?: string;
  read?: Reader<unknown>;
  short?: string;
  required?: true;
  /** Whether it narrows a list, which names it when nothing matches. */
  filter?: true;
  /** Whether an empty text is a value: it takes something away. */
  mayBeBlank?: true;
  /** All possible values. */
  choices?: readonly string[];
}

type ReadBy<One> = One extends { read: Reader<infer Value> } ? Value : never;

/** The values of the arguments, by name. */
export type ArgumentValues<Arguments> = {
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

export type Arguments = Record<string, Argument>;
export type Options = Record<string, Option>;

/** The option of every command. */
export const helpOption = {
  help: { summary: 'display help for command', short: 'h' },
} as const satisfies Options;

/** The option of every command that shows something. */
export const jsonOption = {
  json: { summary: 'print JSON, for programs' },
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
