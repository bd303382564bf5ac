// exitward serve: in its own file, so that the server starts without loading the rest of the
// command line.

import { existsSync } from 'node:fs';
import { type Environment, settingText } from '../../../kit/src/environment.ts';
import { networkStatus, nextStep } from '../operators/operators.ts';
import { runUntilStopped } from '../process.ts';

/** Next steps on the command line; the operators' console has the same ones. */
const steps = {
  server: 'add a server, by "exitward server add" or "exitward inventory import"',
  node: 'let a machine serve one of the servers, by "exitward node invite"',
  account: 'create an account, by "exitward account create"',
  user: 'add a user to an account, by "exitward user add", and invite them, by "exitward user invite"',
  connection: 'put a server on the contract of an account, and open a page through it',
};

/**
 * Runs the server until it is stopped. Prints on standard error where it listens, where the
 * operator token is, and the next step for a new network.
 */
export async function runServer(env: Environment): Promise<void> {
  if (!settingText(env, 'EXITWARD_DATA_DIR') && existsSync('data/demo.json')) {
    process.stderr.write(
      'data/ holds the demo of "npm start". For a network of your own, use another folder: EXITWARD_DATA_DIR=network exitward serve\n',
    );
    process.exitCode = 1;
    return;
  }
  await runUntilStopped(env, async ({ ctx, base_url, admin_url, node_url }) => {
    const next = nextStep(await networkStatus(ctx.db, ctx.clock.now()));
    const { admin_token_file } = ctx.config;
    const lines = [
      `Exitward listens on ${base_url}, for operators on ${admin_url}, for nodes on ${node_url}.`,
      // Nothing else: an operator may have removed the file after the first start.
      ...(existsSync(admin_token_file)
        ? [`Sign in at ${admin_url} with the operator token in ${admin_token_file}.`]
        : []),
      ...(next ? [`Next: ${steps[next]}; or in the console, at ${admin_url}.`] : []),
    ];
    process.stderr.write(lines.map((line) => `${line}\n`).join(''));
  });
}
