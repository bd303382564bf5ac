// The parts of a command: its words, its options, its question, its action and its output.
import type { AdminApi } from './api.ts';
import type { Choice, Given } from './given.ts';
import type { Document, Shown } from './output.ts';

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

export interface Noun {
  name: string;
  summary: string;
  verbs: readonly Verb[];
}
