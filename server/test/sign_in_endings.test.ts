// Endings: sessions, invitations and links with a password, a user, a restored backup; and changes
// at the same moment.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { effort } from '../../test/effort.ts';
import { restoreSqlite } from '../src/db/restore.ts';
import { cost } from '../src/sign_in/passwords.ts';
import { eachApp } from './apps.ts';
import { realCost } from './cheap_passwords.ts';
import { type Browser, passwordOf, startTestApp } from './harness.ts';

eachApp((t) => {
  let accounts = 0;
  let name: string;
  let alice: Browser;

  /** An account of its own, with alice signed in, and bob. */
  async function account(): Promise<void> {
    name = `acme${++accounts}`;
    await t.user(await t.account(name), 'bob', { proxy: true });
    alice = await t.signIn(name, 'alice');
  }
  const make = async (what: 'invite' | 'sign-in-link', user = 'bob'): Promise<string> => {
    const path = `/accounts/${name}/users/${user}/${what}`;
    return (await t.operator.post(path, what === 'invite' ? undefined : {})).body.code;
  };
  const look = async (code: string) => (await t.browser().post('/invite', { code })).status;
  const enter = async (code: string) => (await t.browser().post('/session/link', { code })).status;
  const signIn = async (browser: Browser, user: string, password = passwordOf(user)) =>
    (await browser.post('/session', { account: name, user, password })).status;

  describe.each<[string, (active: boolean) => Promise<{ status: number }>]>([
    ['an admin', (active) => alice.patch('/users/bob', { active })],
    ['the operator', (active) => t.operator.patch(`/accounts/${name}/users/bob`, { active })],
  ])('a user whom %s makes inactive', (_, setActive) => {
    test('comes back with no older session, invitation or link', async () => {
      await account();
      const bob = await t.signIn(name, 'bob');
      const [invite, link] = [await make('invite'), await make('sign-in-link')];
      expect((await setActive(false)).status).toBe(200);
      expect((await setActive(true)).status).toBe(200);
      expect((await bob.get('/session')).status).toBe(401);
      expect([await look(invite), await enter(link)]).toEqual([401, 401]);
      expect(await signIn(t.browser(), 'bob')).toBe(201);
    });
  });

  test('a user whose flags or name change keeps session, invitation and link', async () => {
    await account();
    const bob = await t.signIn(name, 'bob');
    const [invite, link] = [await make('invite'), await make('sign-in-link')];
    const changes = { active: true, display_name: 'Bob', flags: { billing: true } };
    expect((await alice.patch('/users/bob', changes)).status).toBe(200);
    expect((await bob.get('/session')).status).toBe(200);
    expect([await look(invite), await enter(link)]).toEqual([200, 201]);
  });

  describe('a link and an invitation', () => {
    test('end with a password that an invitation sets', async () => {
      await account();
      const link = await make('sign-in-link');
      await t.signIn(name, 'bob');
      expect(await enter(link)).toBe(401);
    });

    test('end with a password that is changed', async () => {
      await account();
      const bob = await t.signIn(name, 'bob');
      const [invite, link] = [await make('invite'), await make('sign-in-link')];
      const change = { current_password: passwordOf('bob'), password: 'another long password' };
      expect((await bob.put('/password', change)).status).toBe(204);
      expect([await look(invite), await enter(link)]).toEqual([401, 401]);
    });

    test('end with a reset', async () => {
      await account();
      const [invite, link] = [await make('invite'), await make('sign-in-link')];
      expect((await alice.delete('/users/bob/sign-in')).status).toBe(204);
      expect([await look(invite), await enter(link)]).toEqual([401, 401]);
    });
  });

  describe('at the same moment,', () => {
    const cheap = { ...cost };
    // Two requests meet at any cost; at the real one each takes a second of a core.
    const costOfRun = effort === 'deep' ? realCost : { log2_n: 12 };
    beforeAll(() => void Object.assign(cost, costOfRun));
    afterAll(() => void Object.assign(cost, cheap));

    test('of two who change a password one does, and the other gets an error', async () => {
      await account();
      const other = t.browser();
      expect(await signIn(other, 'alice')).toBe(201);
      const change = (browser: Browser, password: string) =>
        browser.put('/password', { current_password: passwordOf('alice'), password });
      const [first, second] = ['the first new password', 'the second new password'];
      const statuses = (await Promise.all([change(alice, first), change(other, second)])).map(
        ({ status }) => status,
      );
      // The second one has no session any more, or not the earlier password.
      expect(statuses).toContain(204);
      expect([401, 403, 409]).toContain(statuses.find((status) => status !== 204));
      const [winner, refused] = statuses[0] === 204 ? [first, second] : [second, first];
      expect(await signIn(t.browser(), 'alice', winner)).toBe(201);
      expect(await signIn(t.browser(), 'alice', refused)).toBe(401);
    });

    test('a password that was changed after it was confirmed is not changed by who knew the old one', async () => {
      await account();
      const { ctx } = t.running;
      const write = ctx.db.write.bind(ctx.db);
      // The moment between the confirmation of the old password and the commit of the new one.
      ctx.db.write = async (actor, action) => {
        if (actor.kind === 'user') {
          ctx.db.write = write;
          await t.write((tx) =>
            tx.run(
              "update sign_ins set password = 'another' where account_id = (select id from accounts where name = $1)",
              [name],
            ),
          );
        }
        return write(actor, action);
      };
      try {
        const password = 'a new long password';
        const body = { current_password: passwordOf('alice'), password };
        const answer = await alice.put('/password', body);
        expect([answer.status, answer.body?.message]).toEqual([
          409,
          expect.stringMatching(/^password: it was changed at the same moment/),
        ]);
      } finally {
        ctx.db.write = write;
      }
    });
  });

  test('several who sign in while the cost of a password rises are all let in', async () => {
    await account();
    const before = { ...cost };
    Object.assign(cost, { log2_n: before.log2_n + 1 });
    try {
      const right = Array.from({ length: 5 }, () => signIn(t.browser(), 'alice'));
      expect(await Promise.all(right)).toEqual([201, 201, 201, 201, 201]);
      t.clock.advance(86_400);
      expect(await signIn(t.browser(), 'alice', 'not the password')).toBe(401);
    } finally {
      Object.assign(cost, before);
    }
  });
});

test('a restored backup brings back no session, no invitation or link, and no count of attempts', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'exitward-restore-'));
  const [backup, file] = [join(folder, 'backup.db'), join(folder, 'restored.db')];
  const source = await startTestApp(`sqlite:${join(folder, 'exitward.db')}`);
  const { keys_file, admin_token_file } = source.running.ctx.config;
  await source.user(await source.account('acme'), 'bob', { proxy: true });
  const alice = await source.signIn('acme', 'alice');
  const { code } = (await source.operator.post('/accounts/acme/users/bob/invite', undefined)).body;
  const given = { account: 'acme', user: 'alice', password: passwordOf('alice') };
  const guess = { ...given, password: 'not the password' };
  for (let free = 0; free < 5; free++) await source.browser().post('/session', guess);
  await source.running.ctx.db.backup(backup);
  await restoreSqlite(file, backup, source.clock);
  const restored = await startTestApp(`sqlite:${file}`, {
    EXITWARD_KEYS_FILE: keys_file,
    EXITWARD_ADMIN_TOKEN_FILE: admin_token_file,
  });
  const { cookie } = alice;
  expect((await alice.get('/session')).status).toBe(200);
  expect((await restored.browser().get('/session', { cookie })).status).toBe(401);
  expect((await restored.browser().post('/invite', { code })).status).toBe(401);
  expect((await restored.browser().post('/session', given)).status).toBe(201);
  await Promise.all([restored.stop(), source.stop()]);
  rmSync(folder, { recursive: true });
});
