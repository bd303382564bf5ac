// Questions to a person: for a yes before something is destroyed, and for the token, which is not shown.
import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { Failure, UsageFault } from './command.ts';

const isTerminal = () => process.stdin.isTTY === true && process.stderr.isTTY === true;

/** Resolves when the answer is yes. Errors: a usage fault off a terminal; a failure when it is no. */
export async function confirmed(question: string): Promise<void> {
  if (!isTerminal()) throw new UsageFault(`${question} Add --yes to do it without being asked.`);
  const answer = await asked(`${question} Go on? [y/N] `, process.stderr);
  if (!/^y(es)?$/i.test(answer?.trim() ?? '')) throw new Failure('Nothing was changed.');
}

/**
 * A token: from a person, without an echo, or all of standard input.
 * Errors: a failure when the person leaves.
 */
export async function askToken(): Promise<string> {
  if (!isTerminal()) {
    let text = '';
    for await (const chunk of process.stdin.setEncoding('utf8')) text += chunk;
    return text.trim();
  }
  process.stderr.write('Token: ');
  // A terminal whose echo goes nowhere.
  const silent = new Writable({ write: (_chunk, _encoding, written) => written() });
  const answer = await asked('', silent);
  if (answer === undefined) throw new Failure('There is no token.');
  process.stderr.write('\n');
  return answer.trim();
}

/** A line of the terminal; undefined for Ctrl-C and Ctrl-D. */
function asked(question: string, output: NodeJS.WritableStream): Promise<string | undefined> {
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
