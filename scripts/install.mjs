// Installs what `npm start` and `npm test` need when it is missing or older than the lock file; otherwise does nothing.
//
// npm runs it before both with whatever Node it has, also an old one: the Node that the project
// needs is itself one of the packages. What npm runs next finds it in node_modules/.bin.
import { spawnSync } from 'node:child_process';
import { existsSync, rmSync, statSync, utimesSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { arch, env, execPath, exit, platform, stderr, versions } from 'node:process';
import { fileURLToPath } from 'node:url';
import { differencesIn, faultIn, linkNode, noted } from './installed.mjs';
import { isVendorStale } from './vendor.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const lock = join(root, 'package-lock.json');
const installed = noted(root);
const neededMajor = 24;

/** Ends with what went wrong and what to do about it. */
function fail(sentence) {
  stderr.write(`exitward: ${sentence}\n`);
  exit(1);
}

/** The reason to install, if there is one. */
function staleness() {
  if (!existsSync(installed)) return 'missing';
  if (statSync(installed).mtimeMs < statSync(lock).mtimeMs) return 'older than package-lock.json';
  return differencesIn(root).length > 0 ? 'not as package-lock.json says' : undefined;
}

/** `npm ci` by the npm and the Node that run us, not by the ones that it is about to replace. */
function install(reason) {
  stderr.write(`exitward: node_modules is ${reason}; running npm ci (about half a minute)\n`);
  const options = ['ci', '--include=dev', '--include=optional', '--no-audit', '--no-fund'];
  const isNpm = /npm-cli\.js$/.test(env.npm_execpath ?? '');
  const [command, first] = isNpm
    ? [env.npm_node_execpath ?? execPath, [env.npm_execpath]]
    : [platform === 'win32' ? 'npm.cmd' : 'npm', []];
  const outside = (env.PATH ?? '')
    .split(delimiter)
    .filter((folder) => !folder.startsWith(join(root, 'node_modules')));
  const run = spawnSync(command, [...first, ...options], {
    cwd: root,
    encoding: 'utf8',
    env: { ...env, PATH: outside.join(delimiter) },
    maxBuffer: 64 * 1024 * 1024,
    shell: platform === 'win32' && !isNpm,
  });
  if (run.status !== 0) {
    stderr.write(`${run.stdout ?? ''}${run.stderr ?? ''}`);
    fail(`npm ci failed (${run.error?.message ?? `exit ${run.status ?? run.signal}`}), see above.`);
  }
  const fault = faultIn(root);
  if (fault) {
    // It must not pass for installed when this is called again.
    rmSync(installed);
    fail(fault);
  }
  // npm writes the two files in either order.
  utimesSync(installed, new Date(), new Date());
}

const reason = staleness();
if (reason) install(reason);

const node = linkNode(root) ?? execPath;
// What runs this may be the Node of node_modules that npm has just removed.
if (!existsSync(node) || (node === execPath && Number.parseInt(versions.node, 10) < neededMajor)) {
  fail(
    `Node ${neededMajor} did not arrive in node_modules as package-lock.json promises it. For ${platform} on ${arch} ` +
      `there may be no package of it: then install Node ${neededMajor} (this is ${versions.node}).`,
  );
}

if (isVendorStale()) {
  const vendor = fileURLToPath(new URL('vendor.mjs', import.meta.url));
  const run = spawnSync(node, [vendor], { cwd: root, stdio: 'inherit' });
  if (run.status !== 0) fail('the API documentation page could not be copied, see above.');
}

// A script of its own, by the Node of the project: the console's tools need it.
const console_ = fileURLToPath(new URL('console.mjs', import.meta.url));
if (spawnSync(node, [console_], { cwd: root, stdio: 'inherit' }).status !== 0) {
  fail('the console could not be built, see above.');
}
