// The arguments and options of a command: how each is read, and those that many commands have.
import { span } from './values.ts';

/** Turns a text into a value. Errors: a usage fault, whose message follows the option's name. */
export type Reader<Value> = (text: string) => Value;

/** The properties that arguments and options share. */
interface Input {
  /** The kind of records from which a shell completes its value. */
  completes?: string;
  /**
   * The request field that it sets, such as `expiry` or `limits.services`; by default the field of
   * the same name. An error about the field names this argument or option.
   */
  field?: string;
  /** Whether an empty text is allowed, because it clears the field. */
  mayBeBlank?: true;
  /** All possible values. */
  choices?: readonly string[];
}

export interface Argument extends Input {
  summary?: string;
  read: Reader<unknown>;
  optional?: true;
  /** Takes all words that remain; at least one, unless optional. */
  many?: true;
}

/** As usage shows them: `<account> [name...]`. */
export function usageOfArguments(table: Record<string, Argument> = {}): string[] {
  return Object.entries(table).map(([name, { optional, many }]) => {
    const text = `${name}${many ? '...' : ''}`;
    return optional ? `[${text}]` : `<${text}>`;
  });
}

export interface Option extends Input {
  summary: string;
  /** The placeholder of the value: `<time>`. A switch has none. */
  value?: string;
  read?: Reader<unknown>;
  short?: string;
  required?: true;
  /** Whether it filters a list. An empty list then names the filters in use. */
  filter?: true;
}

type ValueOf<Input> = Input extends { read: Reader<infer Value> } ? Value : never;

/** The values of the arguments, by name. */
export type ArgumentValues<Arguments> = {
  [Name in keyof Arguments]: Arguments[Name] extends { many: true }
    ? Array<ValueOf<Arguments[Name]>>
    : Arguments[Name] extends { optional: true }
      ? ValueOf<Arguments[Name]> | undefined
      : ValueOf<Arguments[Name]>;
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
  help: { summary: 'show help for the command', short: 'h' },
} as const satisfies Options;

/** The option of every command that shows something. */
export const jsonOption = {
  json: { summary: 'print JSON, for programs' },
} as const satisfies Options;

/** The option of a command that asks for confirmation. */
export const confirmOption = {
  yes: { summary: 'skip the confirmation', short: 'y' },
} as const satisfies Options;

/** The options of a command that shows tables. */
export const tableOptions = {
  wide: { summary: "show all columns, even if they don't fit the terminal" },
  watch: { summary: 'refresh until Ctrl-C' },
  every: {
    summary: 'with --watch: time between refreshes (default: 5s)',
    value: '<span>',
    read: span,
  },
} as const satisfies Options;
