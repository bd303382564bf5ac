// What a command is made of: its words, its options, what it asks first, what it does and shows.
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
  /** Turns the text into a value, or throws commander's InvalidArgumentError. */
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
  /** What a person is asked before something is destroyed; undefined: nothing this time. */
  question?: (given: Given) => string | undefined;
  run: (given: Given, api: AdminApi) => Promise<Shown>;
}

export interface Noun {
  name: string;
  summary: string;
  verbs: readonly Verb[];
}
