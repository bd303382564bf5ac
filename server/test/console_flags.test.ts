// Permissions in the console: 403 for exactly those without the flags.
import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, test } from 'vitest';
import { effort } from '../../test/effort.ts';
import { eachApp } from './apps.ts';
import { type Browser, passwordOf } from './harness.ts';

type Flag = 'admin' | 'billing' | 'proxy';

/**
 * A route of an account's records; `self` and `id` stand for the person's name and an entry of
 * theirs.
 */
interface Route {
  method: string;
  path: string;
  may: Flag[];
  body?: (person: { name: string; now: number; id: number }) => unknown;
  /** Takes a contract that is neither suspended nor over. */
  record?: true;
}

const later = (now: number) => now + 3600;
let addresses = 0;
const newAddress = () => {
  addresses += 1;
  return `10.1.${addresses >> 8}.${addresses & 255}`;
};
const everybody: Flag[] = ['admin', 'billing', 'proxy'];

const routes: Route[] = [
  { method: 'GET', path: '/contract', may: everybody },
  { method: 'GET', path: '/usage', may: ['admin', 'billing'] },
  { method: 'GET', path: '/removals', may: ['admin'] },
  { method: 'GET', path: '/connections', may: ['admin', 'proxy'] },
  { method: 'POST', path: '/connections/end', may: ['admin', 'proxy'], body: () => ({}) },
  { method: 'GET', path: '/notices', may: ['admin'] },
  { method: 'GET', path: '/refusals', may: ['admin', 'proxy'] },
  { method: 'GET', path: '/audit', may: ['admin'] },
  { method: 'GET', path: '/tokens', may: ['admin'] },
  {
    method: 'POST',
    path: '/tokens',
    may: ['admin'],
    body: ({ name }) => ({ name, read_only: true }),
  },
  {
    method: 'POST',
    path: '/tokens/2/view',
    may: ['admin'],
    // No password at all: what comes behind the flags says 400.
    body: () => ({}),
  },
  { method: 'DELETE', path: '/tokens/2', may: ['admin'] },
  { method: 'POST', path: '/tokens/remove', may: ['admin'], body: () => ({ ids: [3] }) },
  { method: 'GET', path: '/servers', may: everybody },
  { method: 'GET', path: '/servers/fra1', may: everybody },
  { method: 'GET', path: '/network', may: everybody },
  { method: 'GET', path: '/network/places', may: everybody },
  {
    method: 'POST',
    path: '/servers/remove',
    may: ['admin'],
    body: () => ({ servers: ['fra1'] }),
    record: true,
  },
  {
    method: 'POST',
    path: '/servers/add',
    may: ['admin'],
    body: () => ({ servers: ['fra1'] }),
    record: true,
  },
  { method: 'PUT', path: '/servers/fra1', may: ['admin'], record: true },
  { method: 'DELETE', path: '/servers/ams1', may: ['admin'], record: true },
  // No connection at all: what comes behind the flags says 400.
  { method: 'POST', path: '/servers/fra1/explain', may: ['admin', 'proxy'], body: () => ({}) },
  { method: 'GET', path: '/users', may: ['admin', 'proxy'] },
  { method: 'GET', path: '/users/self', may: ['admin', 'proxy'] },
  { method: 'POST', path: '/users', may: ['admin'], body: ({ name }) => ({ name }) },
  {
    method: 'PATCH',
    path: '/users/self',
    may: ['admin'],
    body: () => ({ display_name: 'Somebody' }),
  },
  {
    method: 'PATCH',
    path: '/users',
    may: ['admin'],
    body: () => ({ users: [{ id: 1, flags: { proxy: true } }] }),
  },
  { method: 'POST', path: '/users/end_sessions', may: ['admin'], body: () => ({ ids: [1] }) },
  { method: 'POST', path: '/users/self/token_version', may: ['admin', 'proxy'] },
  {
    method: 'POST',
    path: '/users/alice/invite',
    may: ['admin'],
    body: ({ name }) => ({ password: passwordOf(name) }),
  },
  { method: 'DELETE', path: '/users/alice/sign-in', may: ['admin'] },
  { method: 'DELETE', path: '/users/alice/sessions', may: ['admin'] },
  {
    method: 'POST',
    path: '/proxy-tokens',
    may: ['admin', 'proxy'],
    body: ({ name }) => ({ user: name }),
    record: true,
  },
  {
    method: 'POST',
    path: '/users/self/vpn-profile',
    may: ['admin', 'proxy'],
    body: () => ({ server: 'fra1' }),
    record: true,
  },
  { method: 'GET', path: '/authlist', may: ['admin', 'proxy'] },
  {
    method: 'POST',
    path: '/authlist',
    may: ['admin', 'proxy'],
    body: ({ name, now }) => ({ ip: newAddress(), user: name, expiry: later(now) }),
    record: true,
  },
  { method: 'GET', path: '/authlist/id', may: ['admin', 'proxy'] },
  {
    method: 'PATCH',
    path: '/authlist/id',
    may: ['admin', 'proxy'],
    body: ({ now }) => ({ expiry: later(now) + 1 }),
    record: true,
  },
  { method: 'DELETE', path: '/authlist/id', may: ['admin', 'proxy'], record: true },
  { method: 'DELETE', path: '/authlist', may: ['admin'], record: true },
  {
    method: 'POST',
    path: '/authlist/restore',
    may: ['admin', 'proxy'],
    body: () => ({ removal_id: 1 }),
    record: true,
  },
  { method: 'GET', path: '/entries?search=7', may: ['admin', 'proxy'] },
  {
    method: 'POST',
    path: '/authlist/remove',
    may: ['admin', 'proxy'],
    body: ({ id }) => ({ ids: [id] }),
    record: true,
  },
  {
    method: 'PATCH',
    path: '/authlist',
    may: ['admin', 'proxy'],
    body: ({ id, now }) => ({ entries: [{ id, expiry: later(now) }] }),
    record: true,
  },
  {
    method: 'POST',
    path: '/authlist/add',
    may: ['admin', 'proxy'],
    body: ({ name, now }) => ({ addresses: newAddress(), user: name, expiry: later(now) }),
    record: true,
  },
  { method: 'GET', path: '/overrides', may: ['admin'] },
  {
    method: 'POST',
    path: '/overrides',
    may: ['admin'],
    body: ({ name, now }) => ({
      server: 'fra1',
      hostname: `${name}.example`,
      ip: '203.0.113.7',
      expiry: later(now),
    }),
    record: true,
  },
  { method: 'GET', path: '/overrides/id', may: ['admin'] },
  {
    method: 'PATCH',
    path: '/overrides/id',
    may: ['admin'],
    body: () => ({ ip: '203.0.113.8' }),
    record: true,
  },
  { method: 'DELETE', path: '/overrides/id', may: ['admin'], record: true },
  { method: 'DELETE', path: '/overrides', may: ['admin'], record: true },
  {
    method: 'POST',
    path: '/overrides/restore',
    may: ['admin'],
    body: () => ({ removal_id: 1 }),
    record: true,
  },
  {
    method: 'POST',
    path: '/overrides/remove',
    may: ['admin'],
    body: ({ id }) => ({ ids: [id] }),
    record: true,
  },
  {
    method: 'PATCH',
    path: '/overrides',
    may: ['admin'],
    body: ({ id, now }) => ({ entries: [{ id, expiry: later(now) }] }),
    record: true,
  },
];

test('every operation on the records of an account is among them', () => {
  const file = new URL('../../docs/openapi.json', import.meta.url);
  const { paths } = JSON.parse(readFileSync(file, 'utf8')) as {
    paths: Record<string, Record<string, { tags: string[] }>>;
  };
  const documented = Object.entries(paths)
    .filter(([path]) => path.startsWith('/console/'))
    .flatMap(([path, methods]) =>
      Object.entries(methods)
        .filter(([, { tags }]) => !/sign-in|live|saved views/.test(tags.join()))
        .map(([method]) => `${method.toUpperCase()} ${path}`),
    );
  const named = ({ method, path }: Route) =>
    `${method} /console${path
      .replace(/\?.*/, '')
      .replace(/\/(id|2)(?=\/|$)/, '/{id}')
      .replace(/\/(self|alice)/, '/{user}')
      .replace(/\/(fra1|ams1)/, '/{server}')}`;
  expect(routes.map(named).sort()).toEqual(documented.sort());
});

/** For a submission nobody's, and each flag alone. */
const combinations = Array.from({ length: 2 ** everybody.length }, (_, bits) =>
  everybody.filter((_, at) => bits & (1 << at)),
).filter((flags) => effort === 'deep' || flags.length < 2);

eachApp((t) => {
  beforeAll(async () => {
    await t.server('fra1');
    await t.server('ams1');
  });

  /** A person with these flags, in an account of their own that alice administers, too. */
  async function person(flags: Flag[], account: string) {
    const acme = await t.account(account, { servers: ['fra1', 'ams1'] });
    await t.operator.post(`/accounts/${account}/tokens`, { name: 'second' });
    const name = 'somebody';
    await t.user(acme, name, Object.fromEntries(flags.map((flag) => [flag, true])));
    const browser = await t.signIn(account, name);
    return { acme, name, browser };
  }

  /** A fresh entry of the list that a route's path names. */
  async function entryFor(path: string, acme: { api_token: string }, user: string) {
    const list = path.startsWith('/overrides') ? 'overrides' : 'ip-authlist';
    const entry = { user, ip: newAddress(), expiry: later(t.now()) };
    const override = { server: 'fra1', hostname: `${Math.random()}.example`, ...entry };
    const { user: _, ...body } = override;
    const answer = await t.as(acme).post(`/contract/${list}`, list === 'overrides' ? body : entry);
    expect(answer.status).toBe(201);
    return answer.body.id as number;
  }

  async function send(
    { method, path, body }: Route,
    browser: Browser,
    name: string,
    id: number,
  ): Promise<number> {
    const target = path.replace('self', name).replace(/\bid$/, String(id));
    const given = body?.({ name, now: t.now(), id });
    return (await browser.send(method, target, given)).status;
  }

  describe.each(combinations.map((flags) => ({ flags, as: flags.join(' and ') || 'no flag' })))(
    'a person with $as',
    ({ flags }) => {
      test('is refused with 403 what other flags are for, and nothing else', async () => {
        const { acme, name, browser } = await person(flags, `of-${flags.join('-') || 'nothing'}`);
        for (const route of routes) {
          const id = await entryFor(route.path, acme, name);
          const status = await send(route, browser, name, id);
          const allowed = route.may.some((flag) => flags.includes(flag));
          const place = `${route.method} ${route.path}: ${status}`;
          if (allowed) expect([403, 404, 405, 500], place).not.toContain(status);
          else expect(status, place).toBe(403);
        }
      });
    },
  );

  test('on a contract that takes no changes, records stay as they are and the rest goes on', async () => {
    const { acme, name, browser } = await person(everybody, 'halted');
    const ids = new Map<Route, number>();
    for (const route of routes) ids.set(route, await entryFor(route.path, acme, name));
    await t.operator.patch('/accounts/halted', { suspended: true });
    for (const route of routes) {
      const status = await send(route, browser, name, ids.get(route) as number);
      if (route.record) expect([route.path, status]).toEqual([route.path, 403]);
      else expect([route.path, 403]).not.toEqual([route.path, status]);
    }
  });
});
