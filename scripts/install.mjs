// Installs what `npm start` and `npm test` need when it is missing or older than the lock file;
// otherwise does nothing.
//
// npm runs it before both with whatever Node it has. An older one must be able to read this file:
// it says so and ends.
import process from 'node:process';

const oldestMajor = 20;

if (Number.parseInt(process.versions.node, 10) < oldestMajor) {
  process.stderr.write(
    `exitward: Node ${oldestMajor} or newer is needed; this is ${process.versions.node}. ` +
      'Install it from https://nodejs.org/en/download, then run the same command again.\n',
  );
  process.exitCode = 1;
} else {
  import('./install_packages.mjs');
}
