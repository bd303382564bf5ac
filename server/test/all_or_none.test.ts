// Every act on many at once, of the console and of operators: with one unknown item it does
// nothing.
import { readFileSync } from 'node:fs';
import { beforeAll, expect, test } from 'vitest';
import { eachApp } from './apps.ts';
import type { Browser } from './harness.ts';

type Act = [
  operation: string,
  body: (now: number) => Record<string, unknown>,
  refusal: [status: number, code: string, field: string],
];

/** Two that exist, and an unknown one behind them. */
const ids = [2, 3, 99];
const entries = (now: number) => [1, 2, 99].map((id) => ({ id, expiry: now + 7200 }));
const acts: Act[] = [
  [
    'PATCH /users',
    () => ({ users: ids.map((id) => ({ id, active: false })) }),
    [404, 'not_found', 'users.2.id'],
  ],
  ['POST /users/end_sessions', () => ({ ids }), [404, 'not_found', 'ids.2']],
  ['PATCH /authlist', (now) => ({ entries: entries(now) }), [404, 'not_found', 'entries.2.id']],
  ['PATCH /overrides', (now) => ({ entries: entries(now) }), [404, 'not_found', 'entries.2.id']],
  ['POST /authlist/remove', () => ({ ids: [1, 2, 99] }), [404, 'not_found', 'ids.2']],
  ['POST /overrides/remove', () => ({ ids: [1, 2, 99] }), [404, 'not_found', 'ids.2']],
  [
    'POST /authlist/add',
    (now) => ({ addresses: '10.1.0.7\n10.1.0.8\n10.1.0.300', user: 'bob', expiry: now + 60 }),
    [400, 'invalid_field', 'addresses'],
  ],
  [
    'POST /servers/add',
    () => ({ servers: ['free1', 'free2', 'none'] }),
    [409, 'unknown_server', 'servers.2'],
  ],
  [
    'POST /servers/remove',
    () => ({ servers: ['own1', 'own2', 'none'] }),
    [409, 'server_not_on_contract', 'servers.2'],
  ],
  ['POST /tokens/remove', () => ({ ids: [1, 2, 99] }), [404, 'not_found', 'ids.2']],
];
const operatorActs: Act[] = [
  [
    'PATCH /accounts',
    () => ({
      accounts: ['acme', 'other', 'none'].map((account) => ({ account, suspended: true })),
    }),
    [404, 'not_found', 'accounts.2.account'],
  ],
  ['PATCH /nodes', () => ({ nodes: [1, 2, 99], drained: true }), [404, 'not_found', 'nodes.2']],
  [
    'PATCH /servers',
    () => ({ servers: ['free1', 'free2', 'none'], services: ['vpn-l2tp'] }),
    [404, 'not_found', 'servers.2'],
  ],
  [
    'POST /servers/remove',
    () => ({ servers: ['free1', 'free2', 'none'] }),
    [404, 'not_found', 'servers.2'],
  ],
  ['POST /tokens/remove', () => ({ ids: [2, 3, 99] }), [404, 'not_found', 'ids.2']],
];
const below = (path: string, acts: Act[]) =>
  acts.map(([operation, ...act]): Act => [operation.replace(' ', ` ${path}`), ...act]);
const all = [
  ...below('/console', acts),
  ...below('/admin/accounts/acme', acts),
  ...below('/admin', operatorActs),
];

test('each documented operation on many is tested here', () => {
  interface Schema {
    $ref?: string;
    properties?: Record<string, { minItems?: number; maxItems?: number }>;
  }
  interface Operation {
    summary: string;
    requestBody?: { content: { 'application/json'?: { schema: Schema } } };
  }
  const file = new URL('../../docs/openapi.json', import.meta.url);
  const { paths, components } = JSON.parse(readFileSync(file, 'utf8')) as {
    paths: Record<string, Record<string, Operation>>;
    components: { schemas: Record<string, Schema> };
  };
  const propertiesOf = ({ requestBody }: Operation) => {
    const schema = requestBody?.content['application/json']?.schema;
    const name = schema?.$ref?.replace('#/components/schemas/', '');
    return Object.values((name ? components.schemas[name] : schema)?.properties ?? {});
  };
  // The body has a list of at least one and at most hundreds, or the summary says so.
  const isOnMany = (operation: Operation) =>
    operation.summary.includes('all or none') ||
    propertiesOf(operation).some(
      ({ minItems = 0, maxItems = 0 }) => minItems === 1 && maxItems >= 500,
    );
  const documented = Object.entries(paths)
    .filter(([path]) => /^\/(console|admin)\//.test(path))
    .flatMap(([path, methods]) =>
      Object.entries(methods)
        .filter(([, operation]) => isOnMany(operation))
        .map(([method]) => `${method.toUpperCase()} ${path.replace('{account}', 'acme')}`),
    );
  expect(all.map(([operation]) => operation).sort()).toEqual(documented.sort());
});

eachApp((t) => {
  let alice: Browser;
  /** Browsers of users on whom the acts would work. */
  let signedIn: Browser[];
  beforeAll(async () => {
    for (const name of ['own1', 'own2', 'free1', 'free2']) await t.server(name);
    const acme = await t.account('acme', { servers: ['own1', 'own2'] });
    await t.account('other');
    for (const user of ['bob', 'carol']) await t.user(acme, user, { proxy: true });
    alice = await t.signIn('acme', 'alice');
    signedIn = [await t.signIn('acme', 'bob'), await t.signIn('acme', 'carol')];
    const expiry = t.now() + 3600;
    const add = async (by: typeof t.operator, path: string, body: object) =>
      expect((await by.post(path, body)).status).toBe(201);
    for (const name of ['own1', 'own2']) await t.node(name);
    for (const at of [1, 2]) {
      await add(alice, '/authlist', { ip: `10.1.0.${at}`, user: 'bob', expiry });
      const override = { server: 'own1', hostname: `h${at}.example`, ip: '192.0.2.1', expiry };
      await add(alice, '/overrides', override);
      await add(alice, '/tokens', { name: `t${at}`, read_only: true });
      await add(t.operator, '/tokens', { name: `t${at}` });
    }
    // A refused read would always be the same.
    const now = await state();
    expect(now.filter((text) => / 200 |^revision \d/.test(text))).toEqual(now);
  });

  /** The answers of all reads, sessions, the newest audit record and the revision included. */
  async function state() {
    const texts: string[] = [];
    const read = async (by: typeof t.operator, path: string) => {
      const { status, text } = await by.get(path);
      texts.push(`${path} ${status} ${text}`);
    };
    for (const path of ['users', 'authlist', 'overrides', 'servers', 'tokens', 'removals']) {
      await read(alice, `/${path}`);
    }
    for (const path of ['accounts', 'servers', 'nodes', 'tokens', 'audit?limit=1']) {
      await read(t.operator, `/${path}`);
    }
    for (const browser of signedIn) await read(browser, '/session');
    texts.push(`revision ${(await t.operator.get('/status')).body.database.revision}`);
    return texts;
  }

  test.each(all)(
    '%s with one unknown item after valid ones is refused, and nothing is done',
    async (operation, body, refusal) => {
      const before = await state();
      const [method = '', path = ''] = operation.split(' ');
      const isOperators = path.startsWith('/admin');
      const by = isOperators ? t.operator : alice;
      const target = path.replace(/^\/(admin|console)/, '');
      const answer = await by.send(method, target, body(t.now()));
      expect([answer.status, answer.body.code, answer.body.field]).toEqual(refusal);
      expect(await state()).toEqual(before);
    },
  );
});
