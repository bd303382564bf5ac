// The parts of a command, and of a program made of them. Parsing, help, completion and the manual read these, and nothing else.
import {
  type Argument,
  type Arguments,
  type ArgumentValues,
  helpOption,
  jsonOption,
  type Option,
  type Options,
  type OptionValues,
  ofLists,
  unasked,
} from './options.ts';
import type { Document, Shown } from './output.ts';

export interface Given<Arguments, Options> {
  arguments: ArgumentValues<Arguments>;
  options: OptionValues<Options>;
}

export interface Definition<Session, Arguments, Options> {
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
  /** Whether it runs until it is told to stop, and shows nothing. */
  serves?: true;
  /** Whether the first argument comes behind `--`, and everything after it is left as it is. */
  verbatim?: true;
  /** The question to a person before something is destroyed; undefined where nothing is, this time. */
  question?: (given: Given<Arguments, Options>) => string | undefined;
  /** Behind the question on a terminal: how many there are, and how to undo it. */
  extent?: (given: Given<Arguments, Options>, session: Session) => Promise<string>;
  /** Returns the output, or the exit code when another program has the last word. */
  run: (given: Given<Arguments, Options>, session: Session) => Promise<Shown | Document | number>;
}

export type Command<Session> = Definition<Session, Arguments, Options>;

/** Commands that begin with the same word, which help shows in a line. */
export interface Noun<Session> {
  noun: string;
  summary: string;
  commands: ReadonlyArray<Command<Session>>;
}

export interface Program<Session> {
  /** As it is called. */
  name: string;
  summary: string;
  version: string;
  /** The commands as help groups them. */
  groups: Readonly<Record<string, ReadonlyArray<Command<Session> | Noun<Session>>>>;
  /** The options of every command, beside --json and --help. */
  options?: Options;
  examples: readonly string[];
  /** Below the commands, in --help and in the manual page. */
  notes: string;
  /** Opens what commands work with. `options`: the values of those of every command. */
  open: (options: Record<string, unknown>) => Session;
  /** The names of records, for completion; `onAway` is called where it gave up. */
  ask?: (words: readonly string[], onAway: () => void) => Ask;
  /** The lines that tell of an error, whose message follows the name of the program; without: one. */
  linesOf?: (message: string, error: unknown) => readonly string[];
}

/** Asks for names, and is quick to give up. `given`: the arguments before; `begun`: how the name begins. */
export type Ask = (
  known: string,
  given: readonly string[],
  begun: string,
) => Promise<readonly string[]>;

/** How a program defines a command: its `run` is given what its arguments and options are read as. */
export function commandsWith<Session>() {
  return <
    const A extends Arguments = Record<never, Argument>,
    const O extends Options = Record<never, Option>,
  >(
    definition: Definition<Session, A, O>,
  ): Command<Session> => definition as unknown as Command<Session>;
}

/** All options of a command, its own first. */
export function optionsOf<Session>(
  { options: common }: Pick<Program<Session>, 'options'>,
  { options, question, list, serves }: Command<Session>,
): Options {
  return {
    ...options,
    ...(question ? unasked : {}),
    ...(list === 'once' ? { wide: ofLists.wide } : list ? ofLists : {}),
    ...common,
    ...(serves ? {} : jsonOption),
    ...helpOption,
  };
}

export function commandsOf<Session>({ groups }: Program<Session>): Array<Command<Session>> {
  return Object.values(groups)
    .flat()
    .flatMap((one) => ('noun' in one ? one.commands : [one]));
}
