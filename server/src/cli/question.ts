// Asks a person before something is destroyed; a program has to say --yes.
import { Failure, UsageFault } from './failures.ts';

/**
 * Resolves when the answer is yes; `extent` adds how much it is about.
 * Errors: a usage fault off a terminal; a failure when it is no.
 */
export async function confirmed(
  question: string,
  extent?: () => Promise<string> | undefined,
): Promise<void> {
  if (!process.stdin.isTTY || !process.stderr.isTTY) {
    throw new UsageFault(`${question} Add --yes to do it without being asked.`);
  }
  const message = [question, await extent?.()].filter(Boolean).join(' ');
  // Loaded where there is a person to ask.
  const { confirm } = await import('@clack/prompts');
  const answer = await confirm({ message, initialValue: false, output: process.stderr });
  if (answer !== true) throw new Failure('Nothing was changed.');
}
