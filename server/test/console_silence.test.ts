// Without the flags one hears the same of existing records and of made-up ones: in paths, and in
// bodies.
import { beforeAll, describe, expect, test } from 'vitest';
import { makeDocument } from '../../scripts/openapi/document.ts';
import { eachApp } from './apps.ts';
import type { Browser } from './harness.ts';

type Flag = 'admin' | 'billing' | 'proxy';
type Names = Record<string, string | number>;

const { routes: all } = await makeDocument();
/** Each path of the console that names a record, by each method: the 405s are answers, too. */
const naming = all.filter(({ path }) => path.startsWith('/console/') && path.includes('{'));
const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

const flagSets: Flag[][] = [[], ['billing'], ['proxy'], ['proxy', 'billing']];
const hasFlag = (may: readonly string[], flags: Flag[]) =>
  may.length === 0 || flags.some((flag) => may.includes(flag));

/** Records of alice: what a path or a body names, by its list or field. */
const there: Record<string, Names> = {
  users: { user: 'alice' },
  servers: { server: 'fra1' },
  authlist: { id: 1 },
  overrides: { id: 2 },
  tokens: { id: 1 },
  sessions: { id: 1 },
};
const madeUp: Names = { user: 'nobody', server: 'nowhere', id: 999 };

/**
 * Bodies that name records of others, each as it is sent for a record that is there and for a
 * made-up one.
 */
const bodies: Array<{
  method: string;
  path: string;
  body: (names: Names, expiry: number) => object;
}> = [
  { method: 'POST', path: '/proxy-tokens', body: ({ user }) => ({ user }) },
  {
    method: 'POST',
    path: '/authlist',
    body: ({ user }, expiry) => ({ ip: '192.0.2.9', user, expiry }),
  },
  { method: 'PATCH', path: '/authlist/OWN', body: ({ user }) => ({ user }) },
  { method: 'PATCH', path: '/authlist/999', body: ({ user }) => ({ user }) },
  {
    method: 'POST',
    path: '/overrides',
    body: ({ server }, expiry) => ({ server, hostname: 'b.example', ip: '203.0.113.7', expiry }),
  },
  { method: 'PATCH', path: '/overrides/2', body: ({ server }) => ({ server }) },
  { method: 'POST', path: '/authlist/restore', body: ({ id }) => ({ removal_id: id }) },
  { method: 'POST', path: '/overrides/restore', body: ({ id }) => ({ removal_id: id }) },
  { method: 'POST', path: '/users', body: ({ user }) => ({ name: user }) },
  { method: 'POST', path: '/tokens', body: ({ id }) => ({ name: id === 1 ? 'default' : 'x' }) },
];

eachApp((t) => {
  let own: number;
  const people = new Map<string, Browser>();
  beforeAll(async () => {
    await t.server('fra1');
    const acme = await t.account('acme', { servers: ['fra1'] });
    await t.signIn('acme', 'alice');
    const account = t.as(acme);
    const expiry = t.now() + 86_400;
    const list = '/contract/ip-authlist';
    const override = { server: 'fra1', hostname: 'a.example', ip: '203.0.113.7', expiry };
    await account.post(list, { ip: '192.0.2.1', user: 'alice', expiry });
    await account.post('/contract/overrides', override);
    await account.delete('/contract/overrides');
    expect((await account.post('/contract/overrides', override)).body.id).toBe(2);
    for (const flags of flagSets) {
      const name = flags.join('-') || 'nothing';
      await t.user(acme, name, Object.fromEntries(flags.map((flag) => [flag, true])));
      people.set(name, await t.signIn('acme', name));
    }
    own = (await account.post(list, { ip: '192.0.2.2', user: 'proxy', expiry })).body.id as number;
  });

  describe.each(flagSets.map((flags) => ({ flags, name: flags.join('-') || 'nothing' })))(
    'a person with the flags $flags',
    ({ flags, name }) => {
      /** The whole answer, except what differs between any two requests. */
      async function answerTo(method: string, path: string, body?: object) {
        const browser = people.get(name) as Browser;
        const isRead = method === 'GET' || method === 'HEAD';
        const { status, headers, text } = await browser.send(
          method,
          path,
          isRead ? undefined : body,
        );
        const shownHeaders = [...headers].filter(
          ([header]) => !/^(date|.*request-id)$/.test(header),
        );
        return { status, text, told: shownHeaders };
      }

      test('hears the same of each record that a path can name', async () => {
        expect(naming.length).toBeGreaterThan(15);
        for (const path of new Set(naming.map((route) => route.path))) {
          const noun = path.split('/')[2] as string;
          const named = (names: Names) =>
            path.slice('/console'.length).replace(/\{(\w+)\}/, (_, field) => `${names[field]}`);
          for (const method of methods) {
            const present = await answerTo(method, named(there[noun] ?? {}), {});
            // They see the list of servers, too.
            if (path === '/console/servers/{server}' && present.status === 200) continue;
            const unknown = await answerTo(method, named(madeUp), {});
            expect([method, path, unknown]).toEqual([method, path, present]);
            const route = naming.find(
              (route) =>
                route.path === path && route.method.toUpperCase() === method && !route.hidden,
            );
            const may = route?.console && 'may' in route.console ? route.console.may : undefined;
            if (!route) expect([404, 405], `${method} ${path}`).toContain(present.status);
            else if (!hasFlag(may ?? [], flags)) {
              expect([method, path, present.status]).toEqual([method, path, 403]);
            }
          }
        }
      });

      test('hears the same of each record that a body can name', async () => {
        for (const { method, path, body } of bodies) {
          const target = path.replace('OWN', `${own}`);
          const expiry = t.now() + 3600;
          const present = await answerTo(
            method,
            target,
            body({ user: 'alice', server: 'fra1', id: 1 }, expiry),
          );
          const unknown = await answerTo(method, target, body(madeUp, expiry));
          expect([method, path, unknown]).toEqual([method, path, present]);
          // 409: a removal of somebody else is gone like one that never was.
          const isRejected = [403, 404, 409].includes(present.status);
          expect([method, path, isRejected]).toEqual([method, path, true]);
        }
      });
    },
  );
});
