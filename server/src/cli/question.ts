// Asks a person before something is destroyed; a program has to say --yes.
import { confirm } from '@clack/prompts';
import { Failure, UsageFault } from './command.ts';

/** Resolves when the answer is yes. Errors: a usage fault off a terminal; a failure when it is no. */
export async function confirmed(question: string): Promise<void> {
  if (!process.stdin.isTTY || !process.stderr.isTTY) {
    throw new UsageFault(`${question} Add --yes to do it without being asked.`);
  }
  const answer = await confirm({ message: question, initialValue: false, output: process.stderr });
  if (answer !== true) throw new Failure('Nothing was changed.');
}
