// The command line `exw`.
import { runProgram } from '../../../kit/src/cli/program.ts';
import { exw } from './commands.ts';
import type { Environment } from './stored_login.ts';

/** Runs one command line and returns the exit code: 0 done, 1 failed, 2 not understood. */
export function main(words: readonly string[], env: Environment, version: string): Promise<number> {
  return runProgram(exw(env, version), words);
}
