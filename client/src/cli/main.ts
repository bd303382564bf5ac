// The command line `exw`: finds the command, asks before it destroys, shows what came of it.
import { ExitwardError } from '../errors.ts';
import { type Command, UsageFault } from './command.ts';
import { commands } from './commands.ts';
import { candidates } from './completion.ts';
import { helpOf, overview, usageOf } from './help.ts';
import type { Environment } from './kept.ts';
import { print, say } from './output.ts';
import { findCommand, parse } from './parse.ts';
import { confirmed } from './question.ts';
import { Session } from './session.ts';

/** Runs one command line. Answers the exit code: 0 done, 1 failed, 2 not understood. */
export async function main(
  argv: readonly string[],
  env: Environment,
  version: string,
): Promise<number> {
  // Whoever reads may stop early, as head does; that is no failure of ours.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
  });
  const [first = '', ...others] = argv;
  if (first === '--version') return write(`${version}\n`);
  if (first === 'complete') return write(lines(candidates(commands, others)));
  if (['help', '--help', '-h'].includes(first)) return helpWith(others);
  const found = findCommand(commands, argv);
  if (!found) return withoutCommand(argv);
  try {
    return await runCommand(found.command, found.rest, env);
  } catch (error) {
    return failed(error, found.command);
  }
}

async function runCommand(command: Command, rest: string[], env: Environment): Promise<number> {
  const parsed = parse(command, rest);
  if (!parsed) return write(helpOf(command));
  const { given, common } = parsed;
  if (command.question && !common.yes) await confirmed(command.question(given));
  const outcome = await command.run(given, new Session(common, env));
  if (typeof outcome === 'number') return outcome;
  print(outcome, common.json);
  return 0;
}

function failed(error: unknown, command: Command): number {
  say(`exw: ${error instanceof Error ? error.message : String(error)}`);
  if (error instanceof UsageFault) {
    say(`Usage: ${usageOf(command)}`);
    return 2;
  }
  if (error instanceof ExitwardError && error.mayHaveActed) {
    say('The change may have been made all the same; look before you try again.');
  }
  return 1;
}

/** `exw help authlist add`, `exw help authlist`, `exw help`. */
function helpWith(words: string[]): number {
  const found = findCommand(commands, words);
  if (found) return write(helpOf(found.command));
  const ofNoun = verbsOf(words[0]);
  return write(overview(ofNoun.length > 0 ? ofNoun : commands));
}

/** A noun without its verb, a word that is no command, or nothing. */
function withoutCommand(argv: readonly string[]): number {
  const [noun, verb = 'nothing'] = argv;
  const ofNoun = verbsOf(noun);
  if (noun === undefined) {
    process.stderr.write(overview(commands));
    return 2;
  }
  if (['--help', '-h'].includes(verb) && ofNoun.length > 0) return write(overview(ofNoun));
  const verbs = ofNoun.map(({ name }) => name.split(' ')[1]).join(', ');
  say(verbs ? `exw: ${noun}: expected one of ${verbs}, got ${verb}` : `exw: ${noun} is no command`);
  say('"exw --help" lists the commands.');
  return 2;
}

function verbsOf(noun: string | undefined): Command[] {
  return commands.filter(({ name }) => name.startsWith(`${noun} `));
}

const lines = (words: string[]) => words.map((word) => `${word}\n`).join('');

function write(text: string): number {
  process.stdout.write(text);
  return 0;
}
