// One run of a command line: finds the command, asks for confirmation, prints the outcome.

import { similar } from '../similar.ts';
import { type Command, commandsOf, type Noun, optionsOf, type Program } from './command.ts';
import { candidates, nextWords } from './completion.ts';
import { UsageFault } from './failures.ts';
import { inOptions } from './fields.ts';
import { helpOf, overview } from './help.ts';
import { narrowed, notify, print, printDocument, screenOf } from './output.ts';
import { findCommand, type Parsed, parse } from './parse.ts';
import { confirmed } from './question.ts';
import { defaultRefreshSeconds, watch } from './watch.ts';
import { terminalWidth } from './wrapped.ts';

/** Returns the exit code: 0 done, 1 failed, 2 not understood, or the command's own. */
export async function runProgram<Session>(
  program: Program<Session>,
  words: readonly string[],
): Promise<number> {
  process.stdout.on('error', ({ code }: NodeJS.ErrnoException) => {
    // A reader may stop early, as head does. That is no failure.
    if (code === 'EPIPE') return;
    notify(`${program.name}: The output cannot be written (${code}); the command itself was run.`);
    process.exit(1);
  });
  const [first = '', ...others] = words;
  if (['--version', '-V'].includes(first)) return succeedWith(`${program.version}\n`);
  if (first === 'complete') return complete(program, others);
  if (['help', '--help', '-h'].includes(first)) return helpWith(program, others);
  try {
    const match = findCommand(commandsOf(program), words);
    return match
      ? await naming(program, match.command, () => runCommand(program, match.command, match.rest))
      : withoutCommand(program, first, others[0]);
  } catch (error) {
    return failed(program, error);
  }
}

/** Prints candidates, and ends at once: a person waits at the Tab key. */
async function complete<Session>(program: Program<Session>, words: string[]): Promise<number> {
  let isAway = false;
  const ask = program.ask?.(words, () => {
    isAway = true;
  });
  const completions = await candidates(program, words, ask ?? (async () => []));
  // A normal exit would wait for a DNS lookup or connection that hangs.
  const end = () => void (isAway && process.kill(process.pid, 'SIGKILL'));
  process.stdout.write(completions.map((word) => `${word}\n`).join(''), end);
  return 0;
}

/** Runs an action of a command. Errors: as of the action, by the names of its options. */
async function naming<Session, T>(
  { requestFailureOf }: Program<Session>,
  command: Command<Session>,
  action: () => Promise<T>,
): Promise<T> {
  try {
    return await action();
  } catch (error) {
    const failure = requestFailureOf?.(error) ?? error;
    const named = inOptions(failure, command);
    throw named === failure ? error : named;
  }
}

async function runCommand<Session>(
  program: Program<Session>,
  command: Command<Session>,
  rest: string[],
): Promise<number> {
  const parsed = parse(command, optionsOf(program, command), rest);
  if (!parsed) return succeedWith(helpOf(program, command));
  const { given, common } = parsed;
  const session = program.open(common);
  if (!command.reportsSettings) notify(...program.unknownSettings(session));
  try {
    const question = common.yes ? undefined : await command.question?.(given, session);
    if (question) await confirmed(question, () => command.extent?.(given, session));
    if (common.watch) return await watchCommand(program, parsed, command, session);
    return await showOutcome(parsed, command, await command.run(given, session));
  } finally {
    await program.close?.(session);
  }
}

async function showOutcome<Session>(
  { common, filters }: Parsed,
  { list }: Command<Session>,
  outcome: Awaited<ReturnType<Command<Session>['run']>>,
): Promise<number> {
  if (typeof outcome === 'number') return outcome;
  if ('pieces' in outcome) await printDocument(outcome);
  else {
    const width = list && !common.wide ? terminalWidth() : undefined;
    print(narrowed(outcome, filters), common.json, width);
  }
  return ('code' in outcome ? outcome.code : undefined) ?? 0;
}

/** Errors: a usage fault off a terminal, where nothing can be drawn in place. */
async function watchCommand<Session>(
  program: Program<Session>,
  { given, common, filters }: Parsed,
  command: Command<Session>,
  session: Session,
): Promise<never> {
  if (!process.stdout.isTTY || common.json || common.wide) {
    throw new UsageFault('--watch: expected a terminal, without --json and --wide');
  }
  const render = async () => {
    const outcome = await naming(program, command, () => command.run(given, session));
    return typeof outcome === 'object' && 'parts' in outcome
      ? screenOf(narrowed(outcome, filters), terminalWidth())
      : '';
  };
  return watch(render, common.every ?? defaultRefreshSeconds, async () => program.close?.(session));
}

function failed<Session>({ name, linesOf }: Program<Session>, error: unknown): number {
  const message = `${name}: ${error instanceof Error ? error.message : String(error)}`;
  if (error instanceof UsageFault) {
    notify(...message.split('\n'), 'Add --help for what is expected.');
    return 2;
  }
  notify(...(linesOf?.(message, error) ?? [message]));
  return 1;
}

/** `PROGRAM help authlist add`, `PROGRAM help authlist`, `PROGRAM help`. */
function helpWith<Session>(program: Program<Session>, words: string[]): number {
  const match = findCommand(commandsOf(program), words);
  if (match) return succeedWith(helpOf(program, match.command));
  return succeedWith(overview(program, nounOf(program, words[0])));
}

/** Nothing, a noun without its verb, or a word that is no command. Errors: a usage fault. */
function withoutCommand<Session>(
  program: Program<Session>,
  first: string,
  verb: string | undefined,
): number {
  const noun = nounOf(program, first);
  if (noun && ['--help', '-h'].includes(verb ?? '')) return succeedWith(overview(program, noun));
  const unknown = noun ? verb : first || verb;
  if (unknown !== undefined && unknown !== '') {
    const kind = unknown.startsWith('-') ? 'option' : 'command';
    const possibleWords = nextWords(commandsOf(program), noun ? [noun.noun] : []);
    const suggestion = kind === 'command' ? similar(unknown, possibleWords) : '';
    // The value of an unknown option may be a secret.
    const shown = unknown.replace(/(^-.*?)=.*/s, '$1');
    throw new UsageFault(`unknown ${kind} '${shown}'${suggestion}`);
  }
  process.stderr.write(overview(program, noun));
  return 2;
}

/** The noun of this name; one is made where commands begin with the word without a noun. */
function nounOf<Session>(
  program: Program<Session>,
  word: string | undefined,
): Noun<Session> | undefined {
  const nouns = Object.values(program.groups).flat();
  const named = nouns.find((entry) => 'noun' in entry && entry.noun === word);
  if (named && 'noun' in named) return named;
  const commands = commandsOf(program).filter(({ name }) => name.startsWith(`${word} `));
  return word && commands.length > 0
    ? { noun: word, summary: program.summary, commands }
    : undefined;
}

function succeedWith(text: string): number {
  process.stdout.write(text);
  return 0;
}
