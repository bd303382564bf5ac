#!/usr/bin/env -S node --max-semi-space-size=8
// Starts the command line, on a Node that can run it. The flag keeps the young generation small:
// some 40 MB less under load, at the same rate.
import { existsSync } from 'node:fs';
// By its default: a Node that is too old has no export of the name, and would say no more than that.
import module from 'node:module';

const needed = 24;

if (Number.parseInt(process.versions.node, 10) < needed) {
  process.stderr.write(
    `exitward: this is Node ${process.versions.node}; Node ${needed} or newer is needed (https://nodejs.org).\n`,
  );
  process.exitCode = 1;
} else {
  // Compiled code is kept between starts: it halves the time that loading takes. Not in Node's default, where other users can put theirs.
  const { HOME, XDG_CACHE_HOME = HOME && `${HOME}/.cache` } = process.env;
  if (XDG_CACHE_HOME) module.enableCompileCache?.(`${XDG_CACHE_HOME}/exitward`);
  // A checkout runs its source; the published package holds it as JavaScript.
  const isBuilt = !existsSync(new URL('../src', import.meta.url));
  const load = (name) =>
    import(isBuilt ? `../dist/server/src/cli/${name}.js` : `../src/cli/${name}.ts`);
  const [noun, ...more] = process.argv.slice(2);
  if (noun === 'serve' && more.length === 0) {
    const { runServer } = await load('serve');
    await runServer(process.env);
  } else {
    const { main } = await load('main');
    process.exitCode = await main(process.argv.slice(2), process.env);
  }
}
