// Runs programs for a test as a user would, without the settings of this machine.
import { spawn } from 'node:child_process';

/** The environment of a program that has this folder for a home. */
export const cleanEnvironment = (home: string): NodeJS.ProcessEnv => ({
  PATH: '/usr/sbin:/usr/bin:/sbin:/bin',
  HOME: home,
  LC_ALL: 'C',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_TERMINAL_PROMPT: '0',
});

const patienceMs = 90_000;

export interface Ran {
  code: number | null;
  /** Both its outputs. */
  output: string;
}

/** Runs a program to its end, or ends it if it has made no progress for this long. */
export function run(
  program: string,
  args: string[],
  home: string,
  environment: NodeJS.ProcessEnv = {},
): Promise<Ran> {
  const child = spawn(program, args, {
    cwd: home,
    env: { ...cleanEnvironment(home), ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
    // A group of its own, so that what it has started ends with it.
    detached: true,
  });
  const late = setTimeout(() => {
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
  }, patienceMs);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      output += chunk;
    });
  }
  return new Promise((resolve, reject) => {
    child.on('error', (error) => {
      clearTimeout(late);
      reject(error);
    });
    child.on('close', (code) => {
      clearTimeout(late);
      resolve({ code, output });
    });
  });
}
