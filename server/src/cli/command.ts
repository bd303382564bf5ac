// The parts of a command: its words, its options, its question, its action and its output.
import type { AdminApi } from './api.ts';
import type { Given } from './given.ts';
import type { Document, Shown } from './output.ts';

/** A failure that its message explains: exit code 1. */
export class Failure extends Error {}

/** A failure that a server told of a field of the request. */
export class ApiFailure extends Failure {
  readonly field: string | undefined;

  constructor(message: string, field: string | undefined) {
    super(message);
    this.field = field;
  }
}

/** A file that cannot be applied, with all its faults. */
export class FaultyFile extends Failure {
  constructor(file: string, faults: readonly string[]) {
    super(
      `${file} cannot be applied; nothing was changed.${faults.map((one) => `\n- ${one}`).join('')}`,
    );
  }
}

/** The network is not as a file says, which was told: exit code 3. */
export class Differs extends Error {}

/** It was told with the output that something is wrong: exit code 1, and no more words. */
export class Told extends Error {}

/** A command line that was not understood: exit code 2. */
export class UsageFault extends Error {}

/**
 * An option: its flags as commander reads them (`--limit <size>`), the field of the request's body or query
 * that its value goes into, and what turns the text into that value. Errors of `parse`: a usage fault, which
 * the option's name is put before.
 */
export type Choice = readonly [
  flags: string,
  description: string,
  field?: string,
  parse?: (text: string) => unknown,
];

/** The action of a command. Errors: a failure. */
export type Run = (given: Given, api: AdminApi) => Promise<Shown | Document>;

export interface Verb {
  /** The verb with its arguments, as commander reads them: `create <name>`. */
  usage: string;
  summary: string;
  required?: readonly Choice[];
  options?: readonly Choice[];
  /** The question to a person before something is destroyed, with `<name>` for an argument. */
  question?: string;
  /** Whether the question is asked this time; always where it is undefined. */
  isAsked?: (given: Given) => boolean;
  /** Behind the question on a terminal: how many there are, and how to undo it. */
  extent?: (given: Given, api: AdminApi) => Promise<string>;
  /** Command lines that a person may begin with. */
  examples?: readonly string[];
  /** Whether it shows tables, which then fit the terminal. */
  list?: true;
  run: Run;
}

/** The value of a text. Errors: the reader's usage fault, with the option's or argument's name before it. */
export function readValue<T>(name: string, read: (text: string) => T, text: string): T {
  try {
    return read(text);
  } catch (error) {
    if (error instanceof UsageFault) throw new UsageFault(`${name}: ${error.message}`);
    throw error;
  }
}

export interface Noun {
  name: string;
  summary: string;
  verbs: readonly Verb[];
}
