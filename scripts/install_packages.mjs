// Installs the packages that are missing or older than the lock file, and builds what they are for.
// The Node that the project needs is one of them: what npm runs next finds it in node_modules/.bin.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, rmSync, statSync, utimesSync } from 'node:fs';
import { constants } from 'node:os';
import { delimiter, join } from 'node:path';
import process, { arch, env, execPath, exit, platform, stderr, versions } from 'node:process';
import { fileURLToPath } from 'node:url';
import { faultIn, linkNode, noted, shortfallIn } from './installed.mjs';
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
  const isOlder = existsSync(installed) && statSync(installed).mtimeMs < statSync(lock).mtimeMs;
  return isOlder ? 'older than package-lock.json' : shortfallIn(root);
}

/** After so long without an end a line names the registry; usually all has come by then. */
const patienceMs = 45_000;

/**
 * Waits for a process to end, and passes signals on to it: an npm that went on alone would break
 * the next installation. Returns its exit code or signal; after a signal it does not return.
 */
async function outlive(child, onSignal) {
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'];
  let received;
  const pass = (signal) => {
    if (!received) {
      onSignal();
      stderr.write('\nexitward: stopping; npm finishes its step first, which can take a minute\n');
    }
    received ??= signal;
    child.kill(signal);
  };
  for (const signal of signals) process.on(signal, pass);
  const [code, signal] = await once(child, 'close');
  if (received) {
    stderr.write('exitward: the installation was interrupted; the next start begins it again\n');
    exit(128 + constants.signals[received]);
  }
  return code ?? signal;
}

/** `npm ci` by the npm and the Node that run us, not by the ones that it is about to replace. */
async function install(reason) {
  stderr.write(`exitward: node_modules is ${reason}; running npm ci (a minute or two)\n`);
  // Without the warnings of packages about the Node that npm has: it only installs.
  const options = ['--include=dev', '--include=optional', '--no-audit', '--no-fund'];
  const isNpm = /npm-cli\.js$/.test(env.npm_execpath ?? '');
  const [command, first] = isNpm
    ? [env.npm_node_execpath ?? execPath, [env.npm_execpath]]
    : [platform === 'win32' ? 'npm.cmd' : 'npm', []];
  const outside = (env.PATH ?? '')
    .split(delimiter)
    .filter((folder) => !folder.startsWith(join(root, 'node_modules')));
  const child = spawn(command, [...first, 'ci', '--loglevel=error', ...options], {
    cwd: root,
    env: { ...env, PATH: outside.join(delimiter) },
    shell: platform === 'win32' && !isNpm,
    stdio: ['ignore', 2, 2],
  });
  const registry = env.npm_config_registry ?? 'https://registry.npmjs.org/';
  const late = setTimeout(() => {
    stderr.write(
      `exitward: npm ci is still running; if this takes minutes, check that this machine reaches ${registry}\n`,
    );
  }, patienceMs);
  const outcome = await outlive(child, () => clearTimeout(late)).catch((error) => error.message);
  clearTimeout(late);
  if (outcome !== 0) fail(`npm ci failed (${outcome}), see above.`);
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
if (reason) await install(reason);

const node = linkNode(root) ?? execPath;
// This may run by the Node of node_modules that npm has just removed.
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
