#!/usr/bin/env node
// Starts the command line exw, on a Node that can run it.
import { existsSync, readFileSync } from 'node:fs';
// By its default: a Node that is too old has no export of the name, and would say no more than that.
import module from 'node:module';

// A checkout runs its source; the published package holds it as JavaScript, which older Nodes run, too.
const isBuilt = !existsSync(new URL('../src', import.meta.url));
const needed = isBuilt ? 20 : 24;

if (Number.parseInt(process.versions.node, 10) < needed) {
  process.stderr.write(
    `exw: this is Node ${process.versions.node}; Node ${needed} or newer is needed (https://nodejs.org).\n`,
  );
  process.exitCode = 1;
} else {
  // Compiled code is kept between starts: loading takes a third of the time. Not in Node's default, where other users can put theirs.
  const { HOME, XDG_CACHE_HOME = HOME && `${HOME}/.cache` } = process.env;
  if (XDG_CACHE_HOME) module.enableCompileCache?.(`${XDG_CACHE_HOME}/exitward`);
  const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
  const { main } = await import(isBuilt ? '../dist/client/src/cli/main.js' : '../src/cli/main.ts');
  process.exitCode = await main(process.argv.slice(2), process.env, version);
}
