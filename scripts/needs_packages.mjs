// Ends with one sentence when the packages are missing, or when this Node is too old for the
// sources of the project, which are TypeScript: before the command fails on either.
// It runs on any Node, also without node_modules.
import process, { stderr, versions } from 'node:process';
import { fileURLToPath } from 'node:url';
import { shortfallIn } from './installed.mjs';

const neededMajor = 24;
const shortfall = shortfallIn(fileURLToPath(new URL('..', import.meta.url)));

if (shortfall) {
  stderr.write(
    `exitward: node_modules is ${shortfall}. Run "npm ci" once, then this command again.\n`,
  );
  process.exitCode = 1;
} else if (Number.parseInt(versions.node, 10) < neededMajor) {
  stderr.write(
    `exitward: this is Node ${versions.node}; Node ${neededMajor} or newer is needed: npm run finds the one in node_modules.\n`,
  );
  process.exitCode = 1;
}
