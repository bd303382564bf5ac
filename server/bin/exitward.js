#!/usr/bin/env node
// Starts the command line, on a Node that can run it.
import process from 'node:process';

const needed = 24;

if (Number.parseInt(process.versions.node, 10) < needed) {
  process.stderr.write(
    `exitward: this is Node ${process.versions.node}; Node ${needed} or newer is needed (https://nodejs.org).\n`,
  );
  process.exitCode = 1;
} else {
  const { main } = await import('../src/cli/main.ts');
  process.exitCode = await main(process.argv, process.env);
}
