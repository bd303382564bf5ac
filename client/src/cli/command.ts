// The parts of a command. Parsing, help and completion all read this, and nothing else.
import {
  type Argument,
  type Arguments,
  type ArgumentValues,
  everywhere,
  type Option,
  type Options,
  type OptionValues,
  ofLists,
  unasked,
} from './options.ts';
import type { Shown } from './output.ts';
import type { Session } from './session.ts';

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

export type Command = Definition<Arguments, Options>;

/** A command, whose `run` is given what its arguments and options are read as. */
export function command<
  const A extends Arguments = Record<never, Argument>,
  const O extends Options = Record<never, Option>,
>(definition: Definition<A, O>): Command {
  return definition as unknown as Command;
}

/** All options of a command, its own first. */
export function optionsOf({ options, question, list }: Command): Options {
  return {
    ...options,
    ...(question ? unasked : {}),
    ...(list === 'once' ? { wide: ofLists.wide } : list ? ofLists : {}),
    ...everywhere,
  };
}
