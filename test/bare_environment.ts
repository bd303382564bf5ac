// The environment of a process that a test starts: of ours only where programs are, and where Node
// keeps what it made of the sources.
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** By the environment, the threads of a process keep it, too. */
export const bareEnvironment = {
  PATH: process.env.PATH,
  NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? join(tmpdir(), 'node-compile-cache'),
};
