// The commands of the three programs in one form, read from their own tables: manual pages come
// from it.
import { exitwardAgent } from '../agent/src/cli.ts';
import { exw } from '../client/src/cli/commands.ts';
import { commandsOf, optionsOf, type Program as Table } from '../kit/src/cli/command.ts';
import { optionLine, usageOf } from '../kit/src/cli/help.ts';
import { exitward } from '../server/src/cli/main.ts';

export interface Program {
  name: string;
  /** Of the manual. */
  section: 1 | 8;
  summary: string;
  commands: Verb[];
  examples: readonly string[];
  notes: string;
}

export interface Verb {
  /** `account list`. */
  words: string;
  usage: string;
  summary: string;
  options: Array<[flags: string, description: string]>;
  notes?: string;
}

/** `exitward`, `exitward-agent` and `exw`. */
export function programs(): Program[] {
  return [
    { section: 1, ...read(exitward({})) },
    { section: 8, ...read(exitwardAgent({})) },
    { section: 1, ...read(exw({})) },
  ];
}

function read<Session>(program: Table<Session>): Omit<Program, 'section'> {
  const { name, summary, examples, notes } = program;
  const commands = commandsOf(program).map((command) => ({
    words: command.name,
    usage: usageOf(program, command),
    summary: command.summary,
    options: Object.entries(optionsOf(program, command)).map(optionLine),
    ...(command.notes === undefined ? {} : { notes: command.notes }),
  }));
  return { name, summary, commands, examples, notes };
}
