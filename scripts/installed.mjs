// The check that node_modules is as the lock file says: the same packages, and among them a Node
// that is, byte for byte, the recorded one. npm compares each package with the lock's integrity as
// it arrives; but it goes on without an optional package that is not as promised, and the Node is
// one, since each platform has its own.
//
// npm runs it after each installation, and scripts/install_packages.mjs uses it: JavaScript that
// Node 20 understands.
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { argv, exit, platform, stderr } from 'node:process';
import { fileURLToPath } from 'node:url';

const recorded = readJson(new URL('node_binaries.json', import.meta.url));

function readJson(path) {
  return JSON.parse(readFileSync(path, 'utf8'));
}

/**
 * The packages that differ between a lock file and what npm noted that it installed; optional ones
 * may be absent.
 */
export function differences(lock, installed) {
  const names = new Set([...Object.keys(lock.packages), ...Object.keys(installed.packages)]);
  return [...names].filter((name) => {
    const [promised, installedEntry] = [lock.packages[name], installed.packages[name]];
    if (name === '' || (promised?.optional && !installedEntry)) return false;
    return (
      promised?.version !== installedEntry?.version ||
      promised?.integrity !== installedEntry?.integrity
    );
  });
}

/** The file in which npm notes all that it installed in `root`. */
export function noted(root) {
  return join(root, 'node_modules', '.package-lock.json');
}

/** Those of the project in the folder `root`. */
export function differencesIn(root) {
  return differences(readJson(join(root, 'package-lock.json')), readJson(noted(root)));
}

/** The reason why the packages in `root` cannot be used, if any, to follow "node_modules is". */
export function shortfallIn(root) {
  if (!existsSync(noted(root))) return 'missing';
  return differencesIn(root).length > 0 ? 'not as package-lock.json says' : undefined;
}

/**
 * The recorded Nodes that are installed in `root`: one, or none where there is no package for this
 * machine.
 */
function installedNodes(root, binaries) {
  return Object.entries(binaries)
    .map(([name, { file, sha256 }]) => ({ path: join(root, 'node_modules', name, file), sha256 }))
    .filter(({ path }) => existsSync(path));
}

/**
 * A sentence for each Node that was installed in `root` and is not the recorded one; none when all
 * is well.
 */
export function wrongNodes(root, binaries = recorded) {
  return installedNodes(root, binaries).flatMap(({ path, sha256 }) => {
    const digest = createHash('sha256').update(readFileSync(path)).digest('hex');
    return digest === sha256
      ? []
      : [`${path} is not the recorded Node (SHA-256 ${digest}, expected ${sha256})`];
  });
}

/**
 * Makes `node_modules/.bin/node` the installed Node, if it is not: npm 10 takes that link away
 * again with the packages for other platforms, which have one of the same name. Returns its path;
 * undefined where there is no Node.
 */
export function linkNode(root, binaries = recorded) {
  const [installed] = installedNodes(root, binaries);
  if (!installed) return undefined;
  const link = join(root, 'node_modules', '.bin', platform === 'win32' ? 'node.cmd' : 'node');
  if (platform === 'win32') {
    if (!existsSync(link)) writeFileSync(link, `@"${installed.path}" %*\r\n`);
  } else if (!existsSync(link) || realpathSync(link) !== realpathSync(installed.path)) {
    mkdirSync(dirname(link), { recursive: true });
    rmSync(link, { force: true });
    symlinkSync(relative(dirname(link), installed.path), link);
  }
  return link;
}

/** The reason why what was installed may not be used, if there is one. */
export function faultIn(root) {
  const different = differencesIn(root);
  if (different.length > 0) {
    return `npm did not install what package-lock.json says: ${different.join(', ')}.`;
  }
  const wrong = wrongNodes(root);
  return wrong.length > 0 ? `${wrong.join('; ')}. Empty npm's cache and try again.` : undefined;
}

if (argv[1] === fileURLToPath(import.meta.url)) {
  const root = fileURLToPath(new URL('..', import.meta.url));
  const fault = faultIn(root);
  if (fault) {
    // It must not pass for installed at the next start.
    rmSync(noted(root), { force: true });
    stderr.write(`exitward: ${fault}\n`);
    exit(1);
  }
  linkNode(root);
}
