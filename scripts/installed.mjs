// The check that node_modules is as the lock file says: the same packages, and among them a Node that is, byte for byte,
// the recorded one. npm compares each package with the lock's integrity as it arrives; but it goes on without an optional
// package that is not as promised, and the Node is one, since each platform has its own.
//
// It is JavaScript that Node 20 understands: scripts/install.mjs uses it ahead of the project's own Node.
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const recorded = readJson(new URL('node_binaries.json', import.meta.url));

function readJson(path) {
  return JSON.parse(readFileSync(path, 'utf8'));
}

/** The packages that differ between a lock file and what npm noted that it installed; optional ones may be absent. */
export function differences(lock, installed) {
  const names = new Set([...Object.keys(lock.packages), ...Object.keys(installed.packages)]);
  return [...names].filter((name) => {
    const [promised, found] = [lock.packages[name], installed.packages[name]];
    if (name === '' || (promised?.optional && !found)) return false;
    return promised?.version !== found?.version || promised?.integrity !== found?.integrity;
  });
}

/** Those of the project in the folder `root`. */
export function differencesIn(root) {
  const installed = join(root, 'node_modules', '.package-lock.json');
  return differences(readJson(join(root, 'package-lock.json')), readJson(installed));
}

/** A sentence for each Node that was installed in `root` and is not the recorded one; none when all is well. */
export function wrongNodes(root, binaries = recorded) {
  return Object.entries(binaries).flatMap(([name, { file, sha256 }]) => {
    const path = join(root, 'node_modules', name, file);
    if (!existsSync(path)) return [];
    const found = createHash('sha256').update(readFileSync(path)).digest('hex');
    return found === sha256
      ? []
      : [`${path} is not the recorded Node (SHA-256 ${found}, expected ${sha256})`];
  });
}
