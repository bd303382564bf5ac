// Rotation of the signing keys: nodes know a key before it signs, and the old one holds as long as
// its last token.
import { spawn } from 'node:child_process';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, watch, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { bareEnvironment } from '../../test/bare_environment.ts';
import { deepDescribe } from '../../test/deep_test.ts';
import { systemClock } from '../src/clock.ts';
import { openDatabase } from '../src/db/open.ts';
import { addSigningKey } from '../src/keys/keys_file.ts';
import { activateKey, listSigningKeys, prepareKey, revokeKey } from '../src/keys/signing_keys.ts';
import { bin, CommandLine, type Outcome, runCommand } from './cli_process.ts';
import { eachDatabase } from './databases.ts';
import { startTestApp, type TestApp } from './harness.ts';
import { ServerProcess } from './server_process.ts';

const kidOf = (token: string): string =>
  JSON.parse(Buffer.from(token.slice(4).split('.')[0] as string, 'base64url').toString())[1];
const kidsIn = (file: string): string[] =>
  JSON.parse(readFileSync(file, 'utf8')).signing.map(({ kid }: { kid: string }) => kid);

/** The work of `exitward keys rotate`. */
async function prepare(t: TestApp): Promise<string> {
  const keys = await listSigningKeys(t.running.ctx.db);
  const of = (list: typeof keys) => list.map(({ kid }) => kid);
  const gone = keys.filter(({ gone_at }) => gone_at !== null);
  const { secrets, kid } = addSigningKey(t.running.ctx.config.keys_file, of(keys), of(gone));
  const key = secrets.publicKeys().find((key) => key.kid === kid);
  if (!key) throw new Error('no key');
  await t.write((tx) => prepareKey(tx, key));
  return kid;
}

async function customer(t: TestApp) {
  await t.server('fra1');
  const acme = await t.account('acme', { servers: ['fra1'] });
  await t.operator.post('/accounts/acme/users', { name: 'alice', flags: { proxy: true } });
  const token = async (lifetime: number) => {
    const answer = await t.as(acme).post('/users/token', { user: 'alice', expire: lifetime });
    expect(answer.status, answer.text).toBeLessThan(300);
    return answer.body.token as string;
  };
  return { token };
}

eachDatabase((database) => {
  test('a prepared key is sent to nodes and signs nothing; activated it signs; the old one goes with its last token', async () => {
    const t = await startTestApp(await database.url());
    const { token } = await customer(t);
    const node = await t.node('fra1');
    const toldKids = async () => {
      const record = (await node.snapshot()).find(({ kind }) => kind === 'keys');
      const value = record?.value as Array<{ kid: string }> | undefined;
      return (value ?? []).map(({ kid }) => kid).sort();
    };
    const old = kidOf(await token(7200));
    expect(await toldKids()).toEqual([old]);
    await node.follow();
    const kid = await prepare(t);
    await node.until(() => node.heard('keys').length > 0);
    expect(node.heard('keys').at(-1)?.value).toHaveLength(2);
    expect(kidOf(await token(3600))).toBe(old);
    await t.write(activateKey);
    expect(kidOf(await token(60))).toBe(kid);
    expect(await toldKids()).toEqual([old, kid].sort());
    // A moment before the last token of the old key ends, and then.
    await t.pass(7199);
    expect(await toldKids()).toEqual([old, kid].sort());
    await t.pass(1);
    expect(await toldKids()).toEqual([kid]);
    expect(kidOf(await token(60))).toBe(kid);
    const { body } = await t.operator.get('/audit?limit=100');
    const actions = body
      .map(({ action }: { action: string }) => action)
      .filter((action: string) => action.startsWith('signing_key.'));
    expect(actions).toEqual(['signing_key.end', 'signing_key.activate', 'signing_key.prepare']);
    // The next rotation takes it out of the file.
    const third = await prepare(t);
    expect(kidsIn(t.running.ctx.config.keys_file)).toEqual([third, kid]);
    node.stop();
    await t.stop();
  });

  test('a prepared key that the keys file has lost is revoked, and another one is prepared', async () => {
    const t = await startTestApp(await database.url());
    const { keys_file } = t.running.ctx.config;
    const older = readFileSync(keys_file);
    const lost = await prepare(t);
    writeFileSync(keys_file, older, { mode: 0o600 });
    await expect(prepare(t)).rejects.toThrow(/is already prepared/);
    await t.write((tx) => revokeKey(tx, lost));
    const next = await prepare(t);
    await t.write(activateKey);
    const keys = await listSigningKeys(t.running.ctx.db);
    expect(keys.find(({ kid }) => kid === lost)?.gone_at).toBe(t.now());
    expect(keys.find(({ kid }) => kid === next)?.activated_at).toBe(t.now());
    // The one that signs cannot be revoked, nor one that is gone.
    await expect(t.write((tx) => revokeKey(tx, next))).rejects.toThrow(/the one that signs/);
    await expect(t.write((tx) => revokeKey(tx, lost))).rejects.toThrow(/There is no signing key/);
    await t.stop();
  });

  deepDescribe('with real processes', () => {
    const folders: string[] = [];
    afterAll(() => {
      for (const folder of folders) rmSync(folder, { recursive: true, force: true });
    });

    test('a key is not activated before each process has the keys file', async () => {
      const url = await database.url();
      const first = await ServerProcess.start(
        ServerProcess.settings({ EXITWARD_DATABASE_URL: url }),
      );
      const other = ServerProcess.settings({ EXITWARD_DATABASE_URL: url });
      for (const file of ['keys.json', 'admin-token']) {
        copyFileSync(join(first.data_dir, file), join(other.EXITWARD_DATA_DIR as string, file));
      }
      const second = await ServerProcess.start(other);
      const env = { EXITWARD_DATABASE_URL: url, EXITWARD_DATA_DIR: first.data_dir };
      const run = (...args: string[]) => runCommand(['keys', ...args], env);
      const list = async () => JSON.parse((await run('list', '--json')).stdout);
      const made = await run('rotate', '--json');
      const { kid } = JSON.parse(made.stdout);
      expect(kidsIn(join(first.data_dir, 'keys.json'))[0]).toBe(kid);
      const refused = await run('rotate', '--activate');
      expect([refused.code, refused.stderr]).toEqual([
        1,
        expect.stringMatching(/is not in the keys file of /),
      ]);
      copyFileSync(join(first.data_dir, 'keys.json'), join(second.data_dir, 'keys.json'));
      // Beside the servers: each try by the command line would be a process.
      const db = await openDatabase(url, { clock: systemClock });
      const lacking = () =>
        db.all('select * from key_holders where kids not like $1', [`%${kid}%`]);
      await expect.poll(lacking, { interval: 200, timeout: 40_000 }).toEqual([]);
      await db.close();
      const activated = await run('rotate', '--activate');
      expect(activated.code).toBe(0);
      expect(activated.stderr).toContain(`signed with ${kid} from now on`);
      expect(await list()).toEqual(
        expect.arrayContaining([expect.objectContaining({ kid, state: 'signs', in_file: true })]),
      );
      await Promise.all([first.remove(), second.remove()]);
    });

    test('killed in the midst of a rotation, the keys file is whole, and the next call takes up the same key', async () => {
      const cli = new CommandLine({ EXITWARD_DATABASE_URL: await database.url() });
      folders.push(cli.data_dir);
      await cli.serve();
      await cli.stop();
      const keys = join(cli.data_dir, 'keys.json');
      const [old] = kidsIn(keys);
      const env = { ...bareEnvironment, ...cli.env } as NodeJS.ProcessEnv;
      const child = spawn(process.execPath, [bin, 'keys', 'rotate'], { env, stdio: 'ignore' });
      const ended = new Promise((resolve) => child.on('close', resolve));
      // As soon as the file has its new content: the database knows nothing yet, or does already.
      const watcher = watch(cli.data_dir, (_event, name) => {
        if (name === 'keys.json') child.kill('SIGKILL');
      });
      await ended;
      watcher.close();
      expect(kidsIn(keys)).toEqual([expect.any(String), old]);
      const [kid] = kidsIn(keys);
      const again: Outcome = await cli.run('keys', 'rotate');
      // Known already when the kill came late.
      if (again.code !== 0) expect(again.stderr).toContain(`${kid} is already prepared`);
      expect(kidsIn(keys)).toEqual([kid, old]);
      expect((await cli.run('keys', 'rotate', '--activate')).stderr).toContain(
        `signed with ${kid}`,
      );
      await cli.serve();
      await cli.clean();
    });

    test('a keys file from before the rotation is refused at the start', async () => {
      const cli = new CommandLine({ EXITWARD_DATABASE_URL: await database.url() });
      folders.push(cli.data_dir);
      await cli.serve();
      await cli.stop();
      const keys = join(cli.data_dir, 'keys.json');
      const before = mkdtempSync(join(tmpdir(), 'exitward-keys-'));
      folders.push(before);
      copyFileSync(keys, join(before, 'keys.json'));
      await cli.run('keys', 'rotate');
      await cli.run('keys', 'rotate', '--activate');
      copyFileSync(join(before, 'keys.json'), keys);
      const refused = await cli.run('serve');
      expect([refused.code, refused.stderr]).toEqual([
        1,
        expect.stringMatching(/lacks the signing key .*older than the last rotation/),
      ]);
      await cli.clean();
    });
  });
});
