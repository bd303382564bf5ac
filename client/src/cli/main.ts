// The command line `exw`.
import { useHttpsProxy } from '../../../kit/src/cli/https_proxy.ts';
import { runProgram } from '../../../kit/src/cli/program.ts';
import { exw } from './commands.ts';
import type { Environment } from './stored_login.ts';

/** Runs one command line and returns the exit code: 0 done, 1 failed, 2 not understood. */
export async function main(
  words: readonly string[],
  env: Environment,
  version: string,
): Promise<number> {
  await useHttpsProxy(env);
  return runProgram(exw(env, version), words);
}
