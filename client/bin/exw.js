#!/usr/bin/env node
// Starts the command line exw, on a Node that can run it.
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
// By its default: a Node that is too old has no export of the name, and would say no more than that.
import module from 'node:module';
import { homedir } from 'node:os';
import { join } from 'node:path';

// A checkout runs its source; the published package holds it as JavaScript, which older Nodes run, too.
const isBuilt = !existsSync(new URL('../src', import.meta.url));
const needed = isBuilt ? 20 : 24;

if (Number.parseInt(process.versions.node, 10) < needed) {
  process.stderr.write(
    `exw: this is Node ${process.versions.node}; Node ${needed} or newer is needed (https://nodejs.org).\n`,
  );
  process.exitCode = 1;
} else {
  keepCompiled();
  const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
  const { main } = await import(isBuilt ? '../dist/cli/main.js' : '../src/cli/main.ts');
  process.exitCode = await main(process.argv.slice(2), process.env, version);
}

/**
 * Compiled code is kept between starts: loading takes a third of the time. In a folder of the user's own, where none is set: by itself Node
 * takes it from the folder for temporary files, where other users can put theirs.
 */
function keepCompiled() {
  if (process.env.NODE_COMPILE_CACHE) return;
  try {
    const folder = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'exitward');
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    module.enableCompileCache?.(folder);
  } catch {
    // Without it, everything takes a little longer.
  }
}
