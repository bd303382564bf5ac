// Prompts: for confirmation before something is removed, and for secrets, without an echo.
import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { Failure, UsageFault } from './failures.ts';
import { textOf } from './input.ts';

export const isTerminal = () => process.stdin.isTTY === true && process.stderr.isTTY === true;

/**
 * Resolves when the answer is yes; `extent` adds how much is affected.
 * Errors: a usage fault off a terminal; a failure when the answer is no.
 */
export async function confirmed(
  question: string,
  extent?: () => Promise<string> | undefined,
): Promise<void> {
  if (!isTerminal()) throw new UsageFault(`${question} Add --yes to confirm.`);
  const sentences = [question, await extent?.()].filter(Boolean).join(' ');
  const answer = await readLine(`${sentences} Continue? [y/N] `, process.stderr);
  if (!/^y(es)?$/i.test(answer?.trim() ?? '')) throw new Failure('Nothing was changed.');
}

/**
 * A secret, such as `Token`: from a person, without an echo, or all of standard input.
 * Errors: a failure when the person cancels.
 */
export async function askSecret(name: string): Promise<string> {
  if (!isTerminal()) {
    return (await standardInput()).replace(/\r?\n$/, '');
  }
  process.stderr.write(`${name}: `);
  // A terminal whose echo goes nowhere.
  const silent = new Writable({ write: (_chunk, _encoding, written) => written() });
  const answer = await readLine('', silent);
  if (answer === undefined) throw new Failure(`There is no ${name.toLowerCase()}.`);
  process.stderr.write('\n');
  return answer;
}

/** All of standard input. Errors: a failure when it is not text. */
export async function standardInput(): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) chunks.push(chunk);
  return textOf(Buffer.concat(chunks), 'Standard input');
}

/** Reads a line from the terminal; undefined for Ctrl-C and Ctrl-D. */
function readLine(question: string, output: NodeJS.WritableStream): Promise<string | undefined> {
  const { stdin } = process;
  const lines = createInterface({ input: stdin, output, terminal: true, historySize: 0 });
  return new Promise((resolve) => {
    let answer: string | undefined;
    lines.on('close', () => {
      // Without an answer the cursor is still in the line of the question.
      if (answer === undefined) process.stderr.write('\n');
      resolve(answer);
    });
    lines.question(question, (text) => {
      answer = text;
      lines.close();
    });
  });
}
