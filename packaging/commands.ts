// The commands of the three programs in one form, read from their own tables: manual pages and completions come from it.
import { commandLine as agentCommandLine, notes as agentNotes } from '../agent/src/cli.ts';
import { type Command as ExwCommand, optionsOf } from '../client/src/cli/command.ts';
import { commands as exwCommands } from '../client/src/cli/commands.ts';
import { notes as exwNotes, optionLine, usageOf } from '../client/src/cli/help.ts';
import { notes, commandLine as serverCommandLine } from '../server/src/cli/main.ts';

/** Of commander, which both command lines are made of. */
type Command = ReturnType<typeof serverCommandLine>;

export interface Program {
  name: string;
  /** Of the manual. */
  section: 1 | 8;
  summary: string;
  commands: Verb[];
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
  const server = serverCommandLine({});
  const agent = agentCommandLine({});
  return [
    { ...fromCommander(server), section: 1, notes },
    { ...fromCommander(agent), section: 8, notes: agentNotes },
    {
      name: 'exw',
      section: 1,
      summary: "The account holder's command line.",
      commands: exwCommands.map(fromExw),
      notes: exwNotes,
    },
  ];
}

function fromCommander(program: Command): Pick<Program, 'name' | 'summary' | 'commands'> {
  const commands = verbsOf(program, []);
  return { name: program.name(), summary: program.description(), commands };
}

function verbsOf(command: Command, words: string[]): Verb[] {
  const visible = command.createHelp().visibleCommands(command);
  return visible
    .filter((one) => one.name() !== 'help')
    .flatMap((one): Verb[] => {
      const path = [...words, one.name()];
      const below = one.commands.length > 0 ? verbsOf(one, path) : [];
      // A command that has others below it is one itself when it takes an argument.
      if (below.length > 0 && one.registeredArguments.length === 0) return below;
      const help = one.createHelp();
      const options = help
        .visibleOptions(one)
        .map((option): [string, string] => [option.flags, help.optionDescription(option)]);
      const usage = help.commandUsage(one);
      return [{ words: path.join(' '), usage, summary: one.description(), options }, ...below];
    });
}

function fromExw(command: ExwCommand): Verb {
  return {
    words: command.name,
    usage: usageOf(command),
    summary: command.summary,
    options: Object.entries(optionsOf(command)).map(optionLine),
    ...(command.notes === undefined ? {} : { notes: command.notes }),
  };
}
