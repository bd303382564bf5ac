// Nothing that an account reads says how much other accounts do: neither on the account interface
// nor in the console.
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { BuiltAccount } from './builders.ts';
import { eachDatabase } from './databases.ts';
import { EventStream } from './event_stream.ts';
import { basic, startTestApp, type TestApp } from './harness.ts';

const { paths } = JSON.parse(
  readFileSync(new URL('../../docs/openapi.json', import.meta.url), 'utf8'),
) as { paths: Record<string, object> };

/** Each path that people and API tokens of an account read, with its names. */
const reads = Object.entries(paths).flatMap(([path, methods]) =>
  'get' in methods && /^\/(v0|console)(\/|$)/.test(path) && path !== '/console/events'
    ? [
        path
          .replace('{id}', '2')
          .replace('{server}', 'fra1')
          .replace('{user}', 'alice')
          .replace(/entries$/, 'entries?search=203'),
      ]
    : [],
);

/** Random texts and veiled numbers: they say nothing, and differ from run to run. */
const opaque = /[\w-]{22,}/g;

/** Each response as its reader sees it, with its headers. */
async function everythingRead(t: TestApp, acme: BuiltAccount, cookie: string) {
  const plain = (text: string) => text.replaceAll(t.base_url, 'URL').replace(opaque, 'OPAQUE');
  const seen: Record<string, unknown> = {};
  for (const path of [...reads, '/console/audit?limit=3', '/console/authlist?limit=1']) {
    const variant = path.includes('whitelist') ? 'earlier' : 'current';
    const authorization = basic(acme.api_token, variant);
    const headers = path.startsWith('/v0') ? { authorization } : { cookie };
    const response = await fetch(`${t.base_url}${path}`, { headers });
    expect(response.status, path).toBe(200);
    const fields = Array.from(response.headers).filter(([name]) => name !== 'date');
    const body = await response.text();
    // A tag and a length follow from the content.
    const shown = fields.filter(([name]) => !['etag', 'content-length'].includes(name));
    seen[path] = [plain(JSON.stringify(shown)), plain(body)];
  }
  const stream = await EventStream.open(`${t.base_url}/console/events`, { cookie });
  await stream.until(({ heard }) => heard.length > 0);
  stream.stop();
  seen.event = plain(JSON.stringify(stream.heard[0]));
  return seen;
}

/** All that alice reads in a network where another account makes as many changes. */
async function whileOthersMake(changes: number, url: string) {
  const t = await startTestApp(url);
  await t.server('fra1', { exit_ips: ['198.51.100.10'] });
  const node = await t.node('fra1');
  await node.start();
  const acme = await t.account('acme', { servers: ['fra1'] });
  const other = await t.account('other', { servers: ['fra1'] });
  await t.user(other, 'bob', { proxy: true });
  const alice = await t.signIn('acme', 'alice');
  const expiry = t.now() + 3600;
  let made = 0;
  const others = async () => {
    for (let i = 0; i < changes; i++) {
      made += 1;
      const address = { ip: `192.0.2.${made}`, user: 'bob', expiry };
      const entry = { server: 'fra1', hostname: `h${made}.example`, ip: '192.0.2.1', expiry };
      const statuses = [
        await t.as(other).post('/contract/ip-authlist', address),
        await t.as(other).post('/contract/overrides', entry),
        await t.operator.post('/accounts/other/tokens', { name: `token-${made}` }),
        await t.operator.patch('/accounts/other/users/bob', { display_name: `Bob ${made}` }),
      ].map(({ status }) => status);
      expect(statuses).toEqual([201, 201, 201, 200]);
    }
  };
  for (const last of [1, 2, 3]) {
    await others();
    const address = { ip: `203.0.113.${last}`, user: 'alice', expiry };
    expect((await alice.post('/authlist', address)).status).toBe(201);
    await others();
    const entry = { server: 'fra1', hostname: `a${last}.example`, ip: '203.0.113.9', expiry };
    expect((await t.as(acme).post('/contract/overrides', entry)).status).toBe(201);
  }
  await alice.post('/authlist/remove', { ids: [3] });
  await others();
  await node.until(({ heard }) => heard.call(node, 'override').length >= 3);
  await node.ack();
  const seen = await everythingRead(t, acme, alice.cookie);
  node.stop();
  await t.stop();
  return seen;
}

eachDatabase((database) => {
  test('all that an account reads is the same whether another account makes no changes or many', async () => {
    const alone = await whileOthersMake(0, await database.url());
    expect(await whileOthersMake(2, await database.url())).toEqual(alone);
  });

  test('a version changes with the part of the account that it names, and with nothing of another account', async () => {
    const t = await startTestApp(await database.url());
    await t.server('fra1');
    await t.account('acme', { servers: ['fra1'] });
    const other = await t.account('other', { servers: ['fra1'] });
    await t.user(other, 'bob', { proxy: true });
    const alice = await t.signIn('acme', 'alice');
    const expiry = t.now() + 60;
    const versions = async () => {
      const text = (await alice.get('/contract')).headers.get('exitward-as-of') ?? '';
      return Object.fromEntries(text.split(', ').map((part) => part.split('=')));
    };
    const before = await versions();
    await t.as(other).post('/contract/ip-authlist', { ip: '203.0.113.1', user: 'bob', expiry });
    expect(await versions()).toEqual(before);
    await alice.post('/authlist', { ip: '203.0.113.2', user: 'alice', expiry });
    const after = await versions();
    expect(after).toEqual({ ...before, authlist: expect.stringMatching(/^[\w-]{22}$/) });
    expect(after.authlist).not.toBe(before.authlist);
    await t.stop();
  });
});
