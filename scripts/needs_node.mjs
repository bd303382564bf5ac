// Ends with one sentence when this Node is too old for the sources of the project, which are
// TypeScript: before it fails on them.
// It runs on any Node, also without node_modules.
import process, { stderr, versions } from 'node:process';

const needed = 24;

if (Number.parseInt(versions.node, 10) < needed) {
  stderr.write(
    `exitward: this is Node ${versions.node}; Node ${needed} or newer is needed: npm ci installs it in node_modules, where npm run finds it.\n`,
  );
  process.exitCode = 1;
}
