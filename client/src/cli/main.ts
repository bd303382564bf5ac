// The command line `exw`: finds the command, asks before it destroys, prints the outcome.

import { usual_every_seconds, watch } from '../../../kit/src/cli/watch.ts';
import { terminalWidth } from '../../../kit/src/cli/wrapped.ts';
import { ExitwardError } from '../errors.ts';
import type { Command } from './command.ts';
import { commands, groups } from './commands.ts';
import { asking, candidates, nextWords } from './completion.ts';
import { UsageFault } from './failures.ts';
import { helpOf, overview } from './help.ts';
import { notify, print, screenOf } from './output.ts';
import { findCommand, type Parsed, parse } from './parse.ts';
import { confirmed } from './question.ts';
import { Session } from './session.ts';
import { similar } from './similar.ts';
import type { Environment } from './stored_login.ts';

/** Runs one command line and returns the exit code: 0 done, 1 failed, 2 not understood. */
export async function main(
  argv: readonly string[],
  env: Environment,
  version: string,
): Promise<number> {
  // The reader may stop early, as head does; that is no failure of ours.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
  });
  const [first = '', ...others] = argv;
  if (['--version', '-V'].includes(first)) return write(`${version}\n`);
  if (first === 'complete') return complete(others, env);
  if (['help', '--help', '-h'].includes(first)) return helpWith(others);
  const found = findCommand(commands, argv);
  if (!found) return withoutCommand(first, others[0]);
  try {
    return await runCommand(found.command, found.rest, env);
  } catch (error) {
    return failed(error);
  }
}

/** Prints candidates, and does not outlive that: a person waits at the Tab key. */
async function complete(words: string[], env: Environment): Promise<number> {
  let isAway = false;
  const ask = asking(words, env, () => {
    isAway = true;
  });
  const found = await candidates(commands, words, ask);
  // An end in good order would wait for a name server that does not answer.
  if (isAway) process.stdout.write(lines(found), () => process.kill(process.pid, 'SIGKILL'));
  else write(lines(found));
  return 0;
}

async function runCommand(command: Command, rest: string[], env: Environment): Promise<number> {
  const parsed = parse(command, rest);
  if (!parsed) return write(helpOf(command));
  const { given, common } = parsed;
  const session = new Session(common, env);
  if (command.question && !common.yes) {
    await confirmed(command.question(given), () => command.extent?.(given, session));
  }
  if (common.watch) return watchCommand(parsed, command, session);
  const outcome = await command.run(given, session);
  if (typeof outcome === 'number') return outcome;
  print(outcome, common.json, command.list && !common.wide ? terminalWidth() : undefined);
  return 0;
}

/** Errors: a usage fault off a terminal, where nothing can be drawn in place. */
async function watchCommand(
  { given, common }: Parsed,
  command: Command,
  session: Session,
): Promise<never> {
  if (!process.stdout.isTTY || common.json || common.wide) {
    throw new UsageFault('--watch: expected a terminal, without --json and --wide');
  }
  const render = async () => {
    const outcome = await command.run(given, session);
    return typeof outcome === 'number' ? '' : screenOf(outcome, terminalWidth());
  };
  return watch(render, common.every ?? usual_every_seconds);
}

function failed(error: unknown): number {
  const message = `exw: ${error instanceof Error ? error.message : String(error)}`;
  if (error instanceof UsageFault) {
    notify(...message.split('\n'));
    notify('Add --help for what is expected.');
    return 2;
  }
  notify(message);
  if (error instanceof ExitwardError && error.mayHaveActed) {
    notify('The change may have been made all the same; look before you try again.');
  }
  return 1;
}

/** `exw help authlist add`, `exw help authlist`, `exw help`. */
function helpWith(words: string[]): number {
  const found = findCommand(commands, words);
  if (found) return write(helpOf(found.command));
  const ofNoun = verbsOf(words[0]);
  return write(overview(ofNoun.length > 0 ? { Commands: ofNoun } : groups));
}

/** Nothing, a noun without its verb, or a word that is no command. */
function withoutCommand(noun: string, verb: string | undefined): number {
  const ofNoun = verbsOf(noun);
  const known = noun === '' ? groups : { Commands: ofNoun };
  if (['--help', '-h'].includes(verb ?? '') && ofNoun.length > 0) return write(overview(known));
  if ((noun !== '' && ofNoun.length === 0) || verb !== undefined) {
    const unknown = (ofNoun.length > 0 ? verb : noun) ?? '';
    const what = unknown.startsWith('-') ? 'option' : 'command';
    const words = ofNoun.length > 0 ? [noun] : [];
    const meant = what === 'command' ? similar(unknown, nextWords(commands, words)) : '';
    return failed(
      new UsageFault(`unknown ${what} '${unknown.replace(/(^-.*?)=.*/s, '$1')}'${meant}`),
    );
  }
  process.stderr.write(overview(known));
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
