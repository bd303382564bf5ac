// npm run release: makes what a version consists of from the last commit, and tags it.
//
//   npm run release -- [--dry-run] [--arch amd64,arm64] [--out FOLDER]
//       both architectures, release/
//
// The npm packages, the Debian packages, a list of all components (CycloneDX), and the checksums of
// all of them. They are made in a copy of the commit, so that nothing else of this folder is in
// them. A tree that `npm run test:deep` has not passed on is refused. --dry-run does everything but
// the tag, on any tree.
import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { argv, env, execPath, exit, stderr, stdout } from 'node:process';
import { parseArgs } from 'node:util';
import { checkRelease, type Release } from './release/checks.ts';
import { componentsOf } from './release/components.ts';
import { requireDeepRun } from './release/deep_record.ts';
import { sumsOf } from './release/sums.ts';

const root = resolve(import.meta.dirname, '..');

/** Copies the commit into a folder, with the packages that are installed here. */
function copyCommit(folder: string): void {
  const archive = execFileSync('git', ['-C', root, 'archive', 'HEAD'], { maxBuffer: 2 ** 28 });
  execFileSync('tar', ['-x', '-C', folder], { input: archive });
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
}

/** Empties the folder of an earlier release. Errors: something else is in it. */
function emptyOut(out: string): void {
  if (existsSync(out) && readdirSync(out).length > 0 && !existsSync(join(out, 'SHA256SUMS'))) {
    throw new Error(`out: ${out} holds something that is no release; expected an empty folder.`);
  }
  rmSync(out, { recursive: true, force: true });
  mkdirSync(out, { recursive: true });
}

/** Makes everything in the folder `out`; returns the names of the files. */
function build({ version, epoch }: Release, architectures: string, out: string): string[] {
  const copy = mkdtempSync(join(tmpdir(), 'exitward-release-'));
  const options = {
    cwd: copy,
    env: { ...env, SOURCE_DATE_EPOCH: String(epoch) },
    stdio: 'pipe' as const,
  };
  try {
    copyCommit(copy);
    emptyOut(out);
    const workspaces = ['server', 'agent', 'client'].flatMap((name) => ['--workspace', name]);
    execFileSync('npm', ['pack', '--silent', ...workspaces, '--pack-destination', out], options);
    const build = ['packaging/build.ts', '--arch', architectures, '--out', out];
    execFileSync(execPath, build, options);
    const list = componentsOf(copy, epoch);
    writeFileSync(join(out, `exitward-${version}.cdx.json`), `${JSON.stringify(list, null, 2)}\n`);
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
  const files = readdirSync(out).sort();
  writeFileSync(join(out, 'SHA256SUMS'), sumsOf(out, files));
  return [...files, 'SHA256SUMS'];
}

try {
  const { values } = parseArgs({
    args: argv.slice(2),
    options: {
      'dry-run': { type: 'boolean', default: false },
      arch: { type: 'string', default: 'amd64,arm64' },
      out: { type: 'string', default: join(root, 'release') },
    },
  });
  const release = checkRelease(root);
  if (!values['dry-run']) requireDeepRun(root);
  const out = resolve(values.out);
  for (const name of build(release, values.arch, out)) stdout.write(`${join(out, name)}\n`);
  const tag = `v${release.version}`;
  if (values['dry-run']) {
    stderr.write(`release: ${tag} is not tagged, as asked.\n`);
  } else {
    execFileSync('git', ['-C', root, 'tag', '-a', tag, '-m', `Exitward ${release.version}`]);
    stderr.write(`release: ${tag} is tagged. To publish it: git push origin ${tag}\n`);
  }
} catch (error) {
  stderr.write(`release: ${(error as Error).message}\n`);
  exit(1);
}
