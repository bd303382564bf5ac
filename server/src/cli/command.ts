// The parts of a command: its words, its options, its question, its action and its output.
import type { AdminApi } from './api.ts';
import type { Given } from './given.ts';
import type { Shown } from './output.ts';

/** A failure that its message explains: exit code 1. */
export class Failure extends Error {}

/** A command line that was not understood: exit code 2. */
export class UsageFault extends Error {}

export interface Choice {
  /** As commander reads them: `--limit <size>`. */
  flags: string;
  description: string;
  /** Turns the text into a value. Errors: a usage fault, which the option's name is put before. */
  parse?: (text: string) => unknown;
  /** The field of the request's body that the value goes into. */
  field?: string;
  required?: boolean;
}

export interface Verb {
  /** The verb with its arguments, as commander reads them: `create <name>`. */
  usage: string;
  summary: string;
  options?: readonly Choice[];
  /** The question to a person before something is destroyed; undefined: none this time. */
  question?: (given: Given) => string | undefined;
  run: (given: Given, api: AdminApi) => Promise<Shown>;
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
