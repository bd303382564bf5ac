// The parts of a command, and of a program made of commands. Parsing, help, completion and the
// manual read nothing else.
import type { RequestFailure } from './failures.ts';
import {
  type Argument,
  type Arguments,
  type ArgumentValues,
  confirmOption,
  helpOption,
  jsonOption,
  type Option,
  type Options,
  type OptionValues,
  tableOptions,
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
  /** Further text in the help, below the options. */
  notes?: string;
  /** Complete command lines to start from. */
  examples?: readonly string[];
  /** Whether it shows tables, which fit the terminal; `once`: it is too costly to be watched. */
  list?: true | 'once';
  /** Whether it runs until it is stopped, and shows nothing. */
  serves?: true;
  /** Whether it reports unknown settings itself: in a log, or as findings. */
  reportsSettings?: true;
  /**
   * Whether the first argument comes after `--`, and the words after it are passed on unchanged.
   */
  verbatim?: true;
  /** The confirmation question; undefined when none is needed this time. */
  question?: (
    given: Given<Arguments, Options>,
    session: Session,
  ) => Promise<string | undefined> | string | undefined;
  /** Follows the question on a terminal: how many there are, and how to undo it. */
  extent?: (given: Given<Arguments, Options>, session: Session) => Promise<string>;
  /** Returns the output, or the exit code of a program that it ran. */
  run: (given: Given<Arguments, Options>, session: Session) => Promise<Shown | Document | number>;
}

export type Command<Session> = Definition<Session, Arguments, Options>;

/** Commands that begin with the same word; help shows them as one line. */
export interface Noun<Session> {
  noun: string;
  summary: string;
  commands: ReadonlyArray<Command<Session>>;
}

export interface Program<Session> {
  /** The word that starts it in a shell. */
  name: string;
  summary: string;
  version: string;
  /** The commands as help groups them. */
  groups: Readonly<Record<string, ReadonlyArray<Command<Session> | Noun<Session>>>>;
  /** The options of every command, in addition to --json and --help. */
  options?: Options;
  examples: readonly string[];
  /** Below the commands, in --help and in the manual page. */
  notes: string;
  /** The units of its own kinds of values, by their placeholders: `<lifetime>`. */
  units?: Readonly<Record<string, string>>;
  /** A sentence for each unknown variable that begins like a setting. */
  unknownSettings: (session: Session) => readonly string[];
  /** Opens the session that commands work with. `options`: the values of the options above. */
  open: (options: Record<string, unknown>) => Session;
  /** Ends what a session began, after its command or on Ctrl-C. */
  close?: (session: Session) => Promise<void>;
  /** The names of records, for completion; `onAway` is called when it gives up. */
  ask?: (words: readonly string[], onAway: () => void) => Ask;
  /**
   * An error of the program's library as a failure that a server reports; undefined for any other.
   */
  requestFailureOf?: (error: unknown) => RequestFailure | undefined;
  /** The lines that report an error. `message`: the program's name and the error's message. */
  linesOf?: (message: string, error: unknown) => readonly string[];
}

/**
 * Asks for the names of records, and gives up soon. `given`: the arguments before;
 * `begun`: how the name begins.
 */
export type Ask = (
  records: string,
  given: readonly string[],
  begun: string,
) => Promise<readonly string[]>;

/** Defines a command: its `run` is given the values of its arguments and options. */
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
    ...(question ? confirmOption : {}),
    ...(list === 'once' ? { wide: tableOptions.wide } : list ? tableOptions : {}),
    ...common,
    ...(serves ? {} : jsonOption),
    ...helpOption,
  };
}

export function commandsOf<Session>({ groups }: Program<Session>): Array<Command<Session>> {
  return Object.values(groups)
    .flat()
    .flatMap((entry) => ('noun' in entry ? entry.commands : [entry]));
}
