// Rotation of the hashing keys: a new key is laid over stored hashes, and every token, session and
// code goes on.
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { type TOTP, URI } from 'otpauth';
import { describe, expect, test } from 'vitest';
import { deepTest } from '../../test/deep_test.ts';
import { testFolder } from '../../test/test_folder.ts';
import { systemClock } from '../src/clock.ts';
import { openDatabase } from '../src/db/open.ts';
import {
  activateHashKey,
  hashesToRenew,
  listHashKeys,
  prepareHashKey,
  renewHashes,
} from '../src/keys/hash_keys.ts';
import { addHashKey, loadSecrets, newKeys } from '../src/keys/keys_file.ts';
import { Secrets } from '../src/keys/secrets.ts';
import { createDevice, deviceOf } from '../src/sign_in/devices.ts';
import { CommandLine } from './cli_process.ts';
import { cookieAt } from './client.ts';
import { eachDatabase } from './databases.ts';
import { passwordOf, startTestApp, type TestApp } from './harness.ts';
import { TestNode } from './node.ts';

const folder = testFolder('hash-keys');

describe('hashing keys, one over the other', () => {
  const file = { ...newKeys(), hash_next: Array.from({ length: 5 }, () => newKeys().hash) };
  /**
   * A process that has so many keys behind the first, and makes hashes with fewer of them or all.
   */
  const process = (held: number, used: number) => {
    const secrets = new Secrets({ ...file, hash_next: file.hash_next.slice(0, held) });
    expect(secrets.useHashKeys(secrets.hashKeyIds().slice(0, used))).toBe(true);
    return secrets;
  };

  test('a hash of any keys becomes the one of all keys, and is found from one rotation to the next', () => {
    const place = fc
      .nat({ max: 5 })
      .chain((held) => fc.tuple(fc.constant(held), fc.nat({ max: held })));
    fc.assert(
      fc.property(fc.string(), place, fc.nat({ max: 5 }), (text, [held, used], before) => {
        const secrets = process(held, used);
        const stored = secrets.hashToken(text);
        expect(secrets.renewedHash(stored)).toBe(stored);
        const older = process(Math.min(before, used), Math.min(before, used)).hashToken(text);
        expect(secrets.renewedHash(older)).toBe(stored);
        expect(secrets.hashesOf(text)).toContain(stored);
        // Not renewed yet; and by a process that has heard of the next key earlier, where this one
        // has it.
        for (const other of [used - 1, used + 1]) {
          if (other < 0 || other > held) continue;
          expect(secrets.hashesOf(text)).toContain(process(other, other).hashToken(text));
        }
      }),
    );
  });

  test('a hash says how many keys it has, and the first one alone is as it always was', () => {
    expect(process(5, 0).hashToken('a')).toMatch(/^[\w-]{43}$/);
    expect(process(5, 0).hashToken('a')).toBe(
      new Secrets({ ...file, hash_next: [] }).hashToken('a'),
    );
    expect(process(5, 4).hashToken('a')).toMatch(/^5\.[\w-]{43}$/);
  });

  test('keys in another order, or others, are not taken', () => {
    const secrets = process(2, 0);
    const [first, two] = secrets.hashKeyIds();
    expect(secrets.useHashKeys([two as string, first as string])).toBe(false);
    expect(secrets.useHashKeys(['hash-00000000'])).toBe(false);
    expect(secrets.hash_keys_in_use).toBe(1);
    expect(secrets.key_id).toBe(process(0, 0).key_id);
  });

  test('a browser is known across a rotation, and no more after the next', () => {
    const owner = { account_id: 1, user_id: 2, password: 'x', totp_sealed: null };
    const { token } = createDevice(process(0, 0), owner, 1000);
    expect(deviceOf(process(1, 1), owner, token, 1001)).toBe(token.split('.')[0]);
    expect(deviceOf(process(2, 2), owner, token, 1001)).toBeUndefined();
  });
});

eachDatabase((database) => {
  /** Everything that is looked up by a hash. */
  async function everything(t: TestApp, n: number) {
    const [server, name] = [`srv${n}`, `account${n}`];
    await t.server(server, { exit_ips: [`198.18.${n}.1`] });
    const account = await t.account(name, { servers: [server] });
    const person = await t.signIn(name, 'alice');
    const { url } = (await person.post('/second-factor', { password: passwordOf('alice') })).body;
    const code = (URI.parse(url) as TOTP).generate({ timestamp: t.now() * 1000 });
    const { recovery_codes } = (await person.put('/second-factor', { code })).body;
    const node = await t.node(server);
    const { code: invitation } = (await t.operator.post('/invites', { server })).body;
    const made = (await t.operator.post('/tokens', { name: `operator${n}` })).body;
    await t.user(account, 'bob');
    const invited = (await t.operator.send('POST', `/accounts/${name}/users/bob/invite`)).body;

    /** Whether each of them is still what it was; uses no one-time code up. */
    const holds = async (by: TestApp) => {
      const cookie = cookieAt(by.base_url, person.cookie);
      return {
        api: (await by.as(account).get('/contract')).status,
        session: (await by.browser().get('/session', { cookie })).status,
        node: (
          await new TestNode(by.running.node_url, node.id, node.token).send('GET', '/snapshot')
        ).status,
        operator: (
          await fetch(`${by.running.admin_url}/admin/status`, {
            headers: { authorization: `Bearer ${made.admin_token}` },
          })
        ).status,
      };
    };
    /** Uses each one-time code. */
    const useUp = async (by: TestApp) => {
      const joined = await fetch(`${by.running.node_url}/node/join`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ code: invitation, name: 'late', version: '1' }),
      });
      const accepted = await by
        .browser()
        .post('/invite/accept', { code: invited.code, password: passwordOf('bob') });
      const signIn = (recovery: string) =>
        by.browser().post('/session', {
          account: name,
          user: 'alice',
          password: passwordOf('alice'),
          code: recovery,
        });
      const recovered = await signIn(recovery_codes[0]);
      return [
        joined.status,
        accepted.status,
        recovered.status,
        (await signIn(recovery_codes[0])).status,
      ];
    };
    return { holds, useUp };
  }
  const all = { api: 200, session: 200, node: 200, operator: 200 };

  async function prepare(t: TestApp): Promise<void> {
    const { ctx } = t.running;
    const inUse = (await listHashKeys(ctx.db)).filter(({ activated_at }) => activated_at !== null);
    const key = addHashKey(ctx.config.keys_file, inUse.length);
    await t.write((tx) => prepareHashKey(tx, key));
  }

  deepTest(
    'whatever was made before, during and after rotations holds in every process at every step',
    async () => {
      const url = await database.url();
      const t = await startTestApp(url);
      const { keys_file, admin_token_file } = t.running.ctx.config;
      // A second process where the database serves several; it has the same file.
      const twin =
        database.name === 'SQLite'
          ? undefined
          : await startTestApp(url, {
              EXITWARD_KEYS_FILE: keys_file,
              EXITWARD_ADMIN_TOKEN_FILE: admin_token_file,
            });
      const processes = twin ? [t, twin] : [t];
      const secretsBefore = [await everything(t, 1)];
      const check = async () => {
        for (const by of processes) {
          for (const before of secretsBefore) expect(await before.holds(by)).toEqual(all);
        }
      };
      for (const round of [2, 3, 4]) {
        await prepare(t);
        await check();
        secretsBefore.push(await everything(twin ?? t, 10 * round));
        // Each process reads the file, and reports it.
        for (const by of processes) await by.pass(15);
        await t.write(activateHashKey);
        // No process has heard of it yet, and hashes are made with the earlier keys.
        secretsBefore.push(await everything(t, 10 * round + 1));
        await check();
        await t.pass(15);
        await check();
        secretsBefore.push(await everything(twin ?? t, 10 * round + 2));
        for (const by of processes) await by.pass(15);
        await check();
        expect(await hashesToRenew(t.running.ctx.db, round)).toBe(0);
        const [row] = await t.running.ctx.db.all<{ hash: string }>('select hash from api_tokens');
        expect(row?.hash).toMatch(new RegExp(`^${round}\\.`));
      }
      for (const [at, before] of secretsBefore.entries()) {
        // Those who fail wait, by address.
        for (const by of processes) by.clock.advance(900);
        expect(await before.useUp(processes[at % processes.length] as TestApp)).toEqual([
          201, 201, 201, 401,
        ]);
      }
      const { body } = await t.operator.get('/audit?limit=1000');
      const actions = body.map(({ action }: { action: string }) => action);
      expect(actions.filter((action: string) => action === 'hash_key.prepare')).toHaveLength(3);
      expect(actions.filter((action: string) => action === 'hash_key.activate')).toHaveLength(3);
      for (const by of processes) await by.stop();
    },
  );

  test('a third key waits until no hash is of the one before the last, and a part of the renewal is as good as none', async () => {
    const t = await startTestApp(await database.url());
    const { ctx } = t.running;
    const first = await everything(t, 1);
    await prepare(t);
    await t.pass(15);
    await t.write(activateHashKey);
    await expect(prepare(t)).rejects.toThrow(/hashes are still of the key before the last/);
    const before = await hashesToRenew(ctx.db, 2);
    expect(before).toBeGreaterThan(10);
    expect(await t.write((tx) => renewHashes(tx, 4, ctx.secrets, ctx.config.keys_file))).toBe(4);
    expect(await hashesToRenew(ctx.db, 2)).toBe(before - 4);
    expect(await first.holds(t)).toEqual(all);
    await t.pass(15);
    expect(await hashesToRenew(ctx.db, 2)).toBe(0);
    await prepare(t);
    await expect(t.write(activateHashKey)).rejects.toThrow(/not in the keys file of/);
    await t.stop();
  });

  if (database.name === 'SQLite') {
    deepTest(
      'a backup from before two rotations works with the keys file of today, and can be rotated again',
      async () => {
        const t = await startTestApp(await database.url());
        const { db, config, secrets } = t.running.ctx;
        const before = await everything(t, 1);
        const backup = join(folder, 'before.db');
        await db.backup(backup);
        for (const _ of [2, 3]) {
          await prepare(t);
          await t.pass(15);
          await t.write(activateHashKey);
          await t.pass(15);
        }
        expect(secrets.hash_keys_in_use).toBe(3);
        expect(await before.holds(t)).toEqual(all);
        const back = await startTestApp(`sqlite:${backup}`, {
          EXITWARD_KEYS_FILE: config.keys_file,
          EXITWARD_ADMIN_TOKEN_FILE: config.admin_token_file,
        });
        expect(await before.holds(back)).toEqual(all);
        await prepare(back);
        await back.pass(15);
        await back.write(activateHashKey);
        await back.pass(15);
        expect(back.running.ctx.secrets.hash_keys_in_use).toBe(2);
        expect(loadSecrets(config.keys_file, true).hashKeyIds()).toHaveLength(2);
        expect(await before.holds(back)).toEqual(all);
        for (const app of [t, back]) await app.stop();
      },
    );
  }

  deepTest(
    'by the command line: an interrupted one is taken up, an older keys file is refused, and the list shows what is under way',
    async () => {
      const url = await database.emptyUrl();
      const cli = new CommandLine();
      cli.env = { ...cli.env, EXITWARD_DATABASE_URL: url };
      const file = join(cli.data_dir, 'keys.json');
      try {
        const unknown = await cli.run('keys', 'rotate', '--hash');
        expect([unknown.code, unknown.stderr]).toEqual([
          1,
          expect.stringMatching(/start .*server/),
        ]);
        await cli.serve();
        const { admin_token: text } = JSON.parse(
          (await cli.run('operator-token', 'create', 'ci', '--json')).stdout,
        );
        const early = await cli.run('keys', 'rotate', '--hash', '--activate');
        expect([early.code, early.stderr]).toEqual([
          1,
          expect.stringMatching(/no hashing key is prepared/),
        ]);
        const older = join(folder, `older-${database.name}.json`);
        copyFileSync(file, older);
        // As a command that was killed between the file and the database leaves it.
        const { id: first } = addHashKey(file, 0);
        const prepared = await cli.run('keys', 'rotate', '--hash', '--json');
        expect(JSON.parse(prepared.stdout)).toEqual({ kid: first });
        expect(loadSecrets(file, true).hashKeyIds()).toEqual([first]);
        const again = JSON.parse((await cli.run('keys', 'rotate', '--hash', '--json')).stdout);
        expect(again).toEqual({ kid: first });
        // Lost again, as by an older copy of the file: no hash was made with it, and another one
        // takes its place.
        copyFileSync(older, file);
        const { kid: id } = JSON.parse(
          (await cli.run('keys', 'rotate', '--hash', '--json')).stdout,
        );
        expect(id).not.toBe(first);
        expect(loadSecrets(file, true).hashKeyIds()).toEqual([id]);
        await cli.stop();
        const newest = readFileSync(file);
        copyFileSync(older, file);
        const lacking = await cli.run('keys', 'rotate', '--hash', '--activate');
        expect([lacking.code, lacking.stderr]).toEqual([
          1,
          expect.stringContaining(`does not have the key ${id}`),
        ]);
        writeFileSync(file, newest, { mode: 0o600 });
        const activated = await cli.run('keys', 'rotate', '--hash', '--activate');
        expect([activated.code, activated.stderr]).toEqual([
          0,
          expect.stringContaining(`Hashes are made with ${id} from now on.`),
        ]);
        const list = async () => {
          const rows = JSON.parse((await cli.run('keys', 'list', '--json')).stdout);
          return rows.find(({ use }: { use: string }) => use === 'hash');
        };
        expect(await list()).toMatchObject({ kid: id, in_file: true });
        expect((await list()).state).toMatch(/^in use, \d+ hashes to renew$/);

        const newer = readFileSync(file);
        copyFileSync(older, file);
        const refused = await cli.run('serve');
        expect([refused.code, refused.stderr]).toEqual([
          1,
          expect.stringMatching(/lacks the hashing key .*older than the last rotation/),
        ]);
        writeFileSync(file, newer, { mode: 0o600 });
        await cli.serve();
        // Beside the server: each look by the command line would be a process.
        const db = await openDatabase(url, { clock: systemClock });
        const patience = { interval: 200, timeout: 40_000 };
        await expect.poll(() => hashesToRenew(db, 2), patience).toBe(0);
        await db.close();
        expect((await list()).state).toBe('in use');
        expect(text).toMatch(/^ewo_/);
        const shown = await fetch(`${cli.env.EXITWARD_ADMIN_URL}/admin/status`, {
          headers: { authorization: `Bearer ${text}` },
        });
        expect(shown.status).toBe(200);
      } finally {
        await cli.clean();
      }
    },
  );
});
