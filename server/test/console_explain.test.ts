// Why a connection of one's own account is let in or rejected: asked in the console, decided by a
// node.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eachDatabase } from './databases.ts';
import { type Browser, passwordOf, startTestApp, type TestApp } from './harness.ts';
import { sendHeldBack } from './held_back.ts';
import type { TestNode } from './node.ts';

const connection = { port: 10_001, host: 'www.example.com' };
const allowed = {
  ...{ verdict: 'allow', status: 200, reason: 'authlist', message: 'Let in.', rule: 'authlist 1' },
  ...{ account: 'acme', user: 'alice', exit_ip: '198.51.100.1', revision: 7 },
};

eachDatabase((database) => {
  let t: TestApp;
  let node: TestNode;
  const browsers = new Map<string, Browser>();
  const signedIn = async (person: string) => {
    const browser = browsers.get(person) ?? (await t.signIn('acme', person));
    browsers.set(person, browser);
    return browser;
  };
  beforeAll(async () => {
    t = await startTestApp(await database.url());
    await t.server('fra1');
    await t.server('ams1');
    const acme = await t.account('acme', { servers: ['fra1'] });
    const users = { boss: 'admin', carol: 'proxy', bob: 'proxy', books: 'billing' };
    for (const [name, flag] of Object.entries(users)) await t.user(acme, name, { [flag]: true });
    await t.account('other', { servers: ['fra1'] });
    node = await t.node('fra1', 'fra1-a');
    await node.start();
  });
  afterAll(async () => {
    node?.stop();
    await t?.stop();
  });

  /** Asks as a person, and answers as a node would: once. */
  async function ask(
    person: string,
    sent: object,
    answer: object = allowed,
    send = (browser: Browser, body: object) => browser.post('/servers/fra1/explain', body),
  ) {
    const browser = await signedIn(person);
    const questions = () =>
      ['explain', 'explain_token']
        .flatMap((kind) => node.heard(kind))
        .filter(({ value }) => value)
        .sort((a, b) => Number(a.id) - Number(b.id));
    const before = questions().length;
    const asking = send(browser, { ...connection, ...sent });
    const heard = node.until(() => questions().length > before).then(() => questions().at(-1));
    const first = await Promise.race([asking, heard]);
    if (first && 'status' in first) return { response: first, question: undefined };
    await node.send('POST', '/answers', { id: (await heard)?.id, answer });
    const response = await asking;
    expect(questions().length).toBe(before + 1);
    return { response, question: questions().at(-1)?.value };
  }

  test('without an address it is about the one that asks', async () => {
    const { response, question } = await ask('boss', {});
    expect(question).toEqual({
      ...{ ...connection, from: '127.0.0.1', method: 'CONNECT', destination_port: 443 },
    });
    const { revision: _, ...shown } = allowed;
    expect([response.status, response.body]).toEqual([200, shown]);
  });

  test('for a user without a token the node is asked about a valid one', async () => {
    const { question } = await ask('carol', { user: 'carol', from: '192.0.2.1' });
    expect(question).toMatchObject({
      ...{ from: '192.0.2.1', user: 'carol' },
      claims: { account: expect.any(Number), user: expect.any(Number), token_version: 1 },
    });
  });

  test('a token that is not genuine is asked about as such, and never passed on', async () => {
    const { question } = await ask('boss', { user: 'alice', token: 'ewt_x.y' });
    expect(question).toMatchObject({ user: 'alice', claims: null });
    expect(JSON.stringify(question)).not.toContain('ewt_');
  });

  const unknown = {
    ...{ verdict: 'challenge', status: 407, reason: 'unknown_address' },
    message:
      'this address is not on an IP authlist; add it, or give your user name and a proxy access token',
  };

  test.each([
    ['of another account', 'boss', { ...allowed, account: 'other' }],
    ['of a colleague, without the admin flag', 'carol', { ...allowed, user: 'bob' }],
    [
      'of another account that is over its limit',
      'boss',
      { ...allowed, verdict: 'deny', status: 403, reason: 'over_limit', account: 'other' },
    ],
    ['of nobody, by a node of other words', 'boss', { ...unknown, message: '?', revision: 7 }],
  ])(
    'an address %s is not distinguishable from one that is not listed',
    async (_, person, answer) => {
      const sent = { from: '192.0.2.7', check_exit: true };
      const { response, question } = await ask(person, sent, answer);
      expect([response.status, response.body]).toEqual([200, unknown]);
      // Nor by the time that a request through the exit takes: the node sends it for their own
      // alone.
      expect(question).not.toHaveProperty('check_exit');
      const own = { boss: { account: 'acme' }, carol: { account: 'acme', user: 'carol' } };
      expect(question).toHaveProperty('check_exit_of', own[person as keyof typeof own]);
    },
  );

  test('an admin whose flag was removed while the body was on its way sees no colleague', async () => {
    const admin = await signedIn('boss');
    await admin.patch('/users/carol', { flags: { admin: true }, password: passwordOf('boss') });
    const late = async ({ cookie }: Browser, body: object) => {
      const headers = { origin: t.base_url, cookie };
      const path = '/console/servers/fra1/explain';
      const { status, text } = await sendHeldBack(
        t.base_url,
        { method: 'POST', path, headers, body },
        () => admin.patch('/users/carol', { flags: { admin: false } }),
      );
      return { status, text, body: JSON.parse(text), headers: new Headers() };
    };
    const sent = { from: '192.0.2.7', check_exit: true };
    const { response, question } = await ask('carol', sent, { ...allowed, user: 'bob' }, late);
    expect([response.status, response.body]).toEqual([200, unknown]);
    expect(question).toHaveProperty('check_exit_of', { account: 'acme', user: 'carol' });
  });

  test("another account's token is one that does not fit", async () => {
    const answer = { ...allowed, reason: 'token', account: 'other' };
    const { response } = await ask('boss', { user: 'alice', token: 'ewt_x.y' }, answer);
    expect(response.body).toMatchObject({ status: 407, reason: 'bad_token' });
  });

  test('an admin sees a colleague, and what a request through the exit saw', async () => {
    const checked = { address: '198.51.100.1', milliseconds: 41 };
    const answer = { ...allowed, user: 'bob', checked };
    const { response, question } = await ask('boss', { check_exit: true }, answer);
    expect(question).toMatchObject({ check_exit_of: { account: 'acme' } });
    expect(response.body).toMatchObject({ user: 'bob', checked });
  });

  test.each([
    ['books', {}, 403, 'flag_needed', undefined],
    ['carol', { user: 'bob' }, 403, 'flag_needed', 'user'],
    ['boss', { user: 'nobody' }, 409, 'unknown_user', 'user'],
    ['boss', { token: 'ewt_x' }, 400, 'invalid_field', 'user'],
    ['boss', { from: 'here' }, 400, 'invalid_field', 'from'],
    ['boss', { port: 0 }, 400, 'invalid_field', 'port'],
    ['boss', { host: 'a b' }, 400, 'invalid_field', 'host'],
    ['boss', { check_exit: 'yes' }, 400, 'invalid_field', 'check_exit'],
  ])(
    '%s asking with %j gets %d, with code and field',
    async (person, sent, status, code, field) => {
      const { response } = await ask(person, sent);
      expect(response.status).toBe(status);
      expect(response.body).toMatchObject({ code, ...(field && { field }) });
    },
  );

  test('a server without a live node gets that at once, and an unknown server is 404', async () => {
    const browser = await signedIn('boss');
    const dark = await browser.post('/servers/ams1/explain', connection);
    expect([dark.status, dark.body.code]).toEqual([503, 'no_live_node']);
    expect((await browser.post('/servers/nowhere/explain', connection)).status).toBe(404);
  });

  test('an operator asks for an account, and must say from where', async () => {
    const path = '/accounts/acme/servers/fra1/explain';
    const { status, body } = await t.operator.post(path, connection);
    expect([status, body.field]).toEqual([400, 'from']);
  });
});
