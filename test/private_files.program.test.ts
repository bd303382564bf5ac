// Secrets that are open to other users: exitward, exitward-agent and exw refuse them, and name the
// command that fixes it.
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { OpenToOthers } from '../kit/src/private_files.ts';
import { loadSecrets } from '../server/src/keys/keys_file.ts';
import { CommandHost } from './command_host.ts';
import { deepTest } from './deep_test.ts';
import { effort } from './effort.ts';
import { testFolder } from './test_folder.ts';

const scratch = testFolder('private');
const isRoot = process.getuid?.() === 0;

const hostOf = (path: string) =>
  new CommandHost(fileURLToPath(new URL(`../${path}`, import.meta.url)));
const exitward = hostOf('server/bin/exitward.js');
const agent = hostOf('agent/bin/exitward-agent.js');
const exw = hostOf('client/bin/exw.js');

const identity = { url: 'http://127.0.0.1:9', node: 1, server: 'fra1', token: 'ewn_x' };
/** A service to which exw sends nothing: it says so at once. */
const login = { url: 'http://api.example', variant: 'current', token: 'ewa_x' };

const readers = [
  {
    name: 'exitward, its operator token',
    file: 'data/admin-token',
    text: 'ewo_x',
    read: (folder: string) =>
      exitward.run({
        args: ['status'],
        env: {
          EXITWARD_DATA_DIR: join(folder, 'data'),
          EXITWARD_ADMIN_URL: 'http://127.0.0.1:9',
        },
      }),
    goesOn: /No Exitward server answers/,
  },
  {
    name: 'exitward-agent, its identity',
    file: 'state/node.json',
    text: JSON.stringify(identity),
    read: (folder: string) =>
      agent.run({
        args: ['join', identity.url, 'code'],
        env: {
          EXITWARD_AGENT_STATE_DIR: join(folder, 'state'),
        },
      }),
    goesOn: /has joined already, as a node of fra1/,
  },
  {
    name: 'exw, its login',
    file: 'exitward/exw.json',
    text: JSON.stringify(login),
    read: (folder: string) =>
      exw.run({ args: ['whoami'], env: { XDG_CONFIG_HOME: folder, HOME: folder } }),
    goesOn: /plain http to another machine/,
  },
];

/** Carries out the command that a refusal names, as the person would who reads it. */
function mend(stderr: string): string {
  const command = /: run "(.*)"\.\n$/.exec(stderr)?.[1] ?? 'false';
  execFileSync('sh', ['-c', command]);
  return command;
}

describe.each(readers)('$name', ({ file, text, read, goesOn }) => {
  const make = (name: string) => {
    const folder = mkdtempSync(join(scratch, `${name} `));
    const path = join(folder, file);
    mkdirSync(dirname(path), { mode: 0o700 });
    writeFileSync(path, text, { mode: 0o600 });
    return { folder, path };
  };

  test.each([0o640, 0o604, 0o620])('is refused with mode %o, until it is fixed', async (mode) => {
    const { folder, path } = make("it's");
    chmodSync(path, mode);
    const refused = await read(folder);
    expect([refused.code, refused.stderr]).toEqual([
      1,
      expect.stringContaining(`${path} is open to other users (mode ${mode.toString(8)}): run `),
    ]);
    expect(refused.stderr).not.toContain(text);
    expect(mend(refused.stderr)).toMatch(/^chmod 600 /);
    expect((await read(folder)).stderr).toMatch(goesOn);
  });

  test('is refused in a folder where others can replace it, until that is fixed', async () => {
    const { folder, path } = make('folder');
    chmodSync(dirname(path), 0o757);
    const refused = await read(folder);
    expect([refused.code, refused.stderr]).toEqual([
      1,
      expect.stringContaining(`the folder ${dirname(path)} (mode 757): run `),
    ]);
    expect(mend(refused.stderr)).toMatch(/^chmod go-w /);
    expect((await read(folder)).stderr).toMatch(goesOn);
    // Others may see that there is such a file; and in a folder such as /tmp they can replace only
    // their own.
    for (const mode of [0o755, 0o1777]) {
      chmodSync(dirname(path), mode);
      expect((await read(folder)).stderr).toMatch(goesOn);
    }
  });

  test('may be in a folder that its owner made under umask 002; no other group may replace it there', async () => {
    // Root, who is alone in a group here, and can hand a folder to another one.
    if (!isRoot) return;
    const { folder, path } = make('group');
    chmodSync(dirname(path), 0o775);
    expect((await read(folder)).stderr).toMatch(goesOn);
    for (const gid of [1, 100, 54_321]) {
      chownSync(dirname(path), 0, gid);
      expect((await read(folder)).stderr).toContain(`the folder ${dirname(path)} (mode 775): run `);
    }
  });

  test('a link to it does not hide the mode', async () => {
    const { folder, path } = make('link');
    writeFileSync(join(folder, 'elsewhere'), text, { mode: 0o644 });
    rmSync(path);
    symlinkSync(join(folder, 'elsewhere'), path);
    expect((await read(folder)).stderr).toContain('(mode 644)');
  });
});

test('root sends nothing but an operator token, and no file that the owner of a folder led it to', async () => {
  if (!isRoot) return;
  const folder = mkdtempSync(join(scratch, 'service-'));
  const secret = join(scratch, 'root-secret');
  writeFileSync(secret, 'ewo_rootsown', { mode: 0o600 });
  const status = async (path: string) => {
    const { stderr } = await exitward.run({
      args: ['status'],
      env: { EXITWARD_ADMIN_TOKEN_FILE: path, EXITWARD_ADMIN_URL: 'http://127.0.0.1:9' },
    });
    return stderr;
  };
  const [own, link, inLink] = ['own', 'link', 'inside/root-secret'].map((name) =>
    join(folder, name),
  ) as [string, string, string];
  writeFileSync(own, 'ewo_x', { mode: 0o600 });
  symlinkSync(secret, link);
  symlinkSync(scratch, join(folder, 'inside'));
  for (const path of [folder, own]) chownSync(path, 12_345, 12_345);
  // The folder above is of the process; nobody but root is on the way to it.
  expect(await status(own)).toMatch(/No Exitward server answers/);
  for (const path of [link, inLink]) {
    expect(await status(path)).toContain(
      `${folder} belongs to uid 12345, who can have ${path} lead`,
    );
  }
  // A link in root's own folder is root's.
  symlinkSync(own, join(scratch, 'to-own'));
  expect(await status(join(scratch, 'to-own'))).toMatch(/No Exitward server answers/);
  writeFileSync(own, 'root:$y$j9T$:', { mode: 0o600 });
  const other = await status(own);
  expect(other).toContain(`${own}: expected an operator token (ewo_…).`);
  expect(other).not.toContain('j9T');
});

describe('the keys of a network', () => {
  const path = join(scratch, 'keys', 'keys.json');

  test('are refused with a mode that others can read, and in a folder where others can replace them', () => {
    const { key_id } = loadSecrets(path, false);
    chmodSync(path, 0o644);
    expect(() => loadSecrets(path, true)).toThrow(
      `${path} is open to other users (mode 644): run "chmod 600 ${path}".`,
    );
    chmodSync(path, 0o600);
    chmodSync(dirname(path), 0o777);
    expect(() => loadSecrets(path, true)).toThrow(
      `Other users can replace what is in the folder ${dirname(path)} (mode 777): run "chmod go-w ${dirname(path)}".`,
    );
    chmodSync(dirname(path), 0o700);
    expect(loadSecrets(path, true).key_id).toBe(key_id);
  });

  test('may be read by others where a container is given its secrets, and not replaced', () => {
    const folder = join(scratch, 'secrets');
    const version = join(folder, '..version');
    mkdirSync(version, { recursive: true, mode: 0o755 });
    const mounted = join(folder, 'keys.json');
    const { key_id } = loadSecrets(join(version, 'keys.json'), false);
    symlinkSync('..version/keys.json', mounted);
    for (const mode of [0o444, 0o644]) {
      chmodSync(mounted, mode);
      expect(() => loadSecrets(mounted, true)).toThrow(OpenToOthers);
      for (const other of [`${scratch}/secret`, join(scratch, 'keys'), join(folder, 'none')]) {
        expect(() => loadSecrets(mounted, true, other)).toThrow(OpenToOthers);
      }
      expect(loadSecrets(mounted, true, folder).key_id).toBe(key_id);
    }
    chmodSync(mounted, 0o646);
    expect(() => loadSecrets(mounted, true, folder)).toThrow(OpenToOthers);
    chmodSync(mounted, 0o444);
    chmodSync(folder, 0o757);
    expect(() => loadSecrets(mounted, true, folder)).toThrow(OpenToOthers);
    chmodSync(folder, 0o755);
    chmodSync(version, 0o757);
    expect(() => loadSecrets(mounted, true, folder)).toThrow(OpenToOthers);
    chmodSync(version, 0o755);
    // A link that leads out of it.
    symlinkSync(path, join(folder, 'out.json'));
    chmodSync(path, 0o644);
    expect(() => loadSecrets(join(folder, 'out.json'), true, folder)).toThrow(OpenToOthers);
    chmodSync(path, 0o600);
  });

  deepTest(
    'are refused when another user owns them, or their folder; root alone can try that',
    () => {
      if (!isRoot) return;
      loadSecrets(path, false);
      chownSync(path, 12_345, 12_345);
      expect(() => loadSecrets(path, true)).toThrow(
        `${path} belongs to another user (uid 12345), who can read and replace it: run "chown 0 ${path}".`,
      );
      chownSync(path, 0, 0);
      chownSync(dirname(path), 12_345, 12_345);
      expect(() => loadSecrets(path, true)).toThrow(
        `The folder ${dirname(path)} belongs to another user (uid 12345)`,
      );
      chownSync(dirname(path), 0, 0);
      loadSecrets(path, true);
    },
  );
});

const bins = ['server/bin/exitward.js', 'agent/bin/exitward-agent.js', 'client/bin/exw.js'];
// They share the code of it.
test.each(effort === 'deep' ? bins : bins.slice(0, 1))(
  '%s keeps compiled code where its owner alone can write, and takes none from the folder that all share',
  (path) => {
    const home = mkdtempSync(join(scratch, 'home-'));
    const shared = mkdtempSync(join(scratch, 'shared-'));
    const env = { HOME: home, TMPDIR: shared };
    const bin = fileURLToPath(new URL(`../${path}`, import.meta.url));
    /** Errors: when it ends with another code than 0. */
    const help = (settings: Record<string, string>) =>
      execFileSync(process.execPath, [bin, '--help'], { env: settings });
    help(env);
    expect(readdirSync(shared)).toEqual([]);
    const cache = statSync(join(home, '.cache/exitward'));
    expect([cache.mode & 0o022, cache.uid]).toEqual([0, process.getuid?.()]);
    expect(readdirSync(join(home, '.cache/exitward'))).toHaveLength(1);
    // One that names no folder that can be made is no reason to stop.
    help({ ...env, HOME: '/dev/null' });
    help({ TMPDIR: shared });
    help({ ...env, XDG_CACHE_HOME: '/dev/null/x' });
    expect(readdirSync(shared)).toEqual([]);
  },
);
