// Each value that has one spelling or bounds of its own, through each request that writes it:
// refused with its field named, or stored in the one spelling. The OpenAPI document lists the
// requests that there are: a new one fails until it is in the table.
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isDrawnOf } from '../../test/deep_test.ts';
import { eachDatabase } from './databases.ts';
import { type Answer, startTestApp, type TestApp, type TestClient } from './harness.ts';

const now = 1_800_000_000;
const year = 365 * 86_400;
const noAddresses = [
  ...['127.0.0.300', '10.1', '010.8.8.8', '0x7f.1', 'fe80::1%eth0', ' 198.51.100.9'],
  ...[
    'k1.example.net',
    '::',
    '0.0.0.0',
    '224.0.0.1',
    'ff02::1',
    '255.255.255.255',
    '2001:db8::1::2',
  ],
];
const noWholeSeconds = [-1, 1.5, '1800000060', null, true];
const noMoments = [...noWholeSeconds, now * 1000, 253_402_300_800, Number.MAX_SAFE_INTEGER];

interface Column {
  bad: readonly unknown[];
  /** As they are written, and as they are stored. */
  good: ReadonlyArray<readonly [written: unknown, stored: unknown]>;
}
const columns = {
  address: {
    bad: [...noAddresses, '198.51.100.0/24', 7, null],
    good: [
      ['2001:DB8:0::1', '2001:db8::1'],
      ['2001:db8::0001', '2001:db8::1'],
      ['::ffff:198.51.100.99', '198.51.100.99'],
      ['198.51.100.99', '198.51.100.99'],
    ],
  },
  hostname: {
    bad: [
      ...['not a hostname', 'a..example', '*.example.net', 'localhost', '127.0.0.1', '::1', '.'],
      ...[`${'x'.repeat(64)}.example`, `${'x.'.repeat(130)}example`, '-x.example', '', 7, null],
    ],
    good: [
      ['K1.Example.net.', 'k1.example.net'],
      ['BÜCHER.example', 'xn--bcher-kva.example'],
      ['k1.example.net', 'k1.example.net'],
    ],
  },
  country: {
    bad: ['UK', 'ZZ', 'EU', 'de', 'Germany', '', 7, null],
    good: [
      ['GB', 'GB'],
      ['XK', 'XK'],
    ],
  },
  words: {
    bad: [' ', '\t', '', 'x'.repeat(129), 7, null],
    good: [['Zürich', 'Zürich']],
  },
  expiry: {
    bad: [...noWholeSeconds, 0, now, now * 1000, now + 11 * year, Number.MAX_SAFE_INTEGER],
    good: [[now + 60, now + 60]],
  },
  contract_start: { bad: noMoments, good: [[now - 60, now - 60]] },
  contract_expiry: { bad: noMoments, good: [[now + 60, now + 60]] },
} as const satisfies Record<string, Column>;

/** The fields that hold them, by the name that they have in every request. */
const fieldNames = [
  'ip',
  'hostname',
  'expiry',
  'start',
  'addresses',
  'from',
  'host',
  'exit_ip',
  'country',
  'title',
  'city',
  'plan',
];

/**
 * Requests with such a field that ask, or report what the control plane has: nothing of it is
 * stored as an operator's word.
 */
const notStored = /\/explain(-login)? |\/vpn-profile |\/connections\/(end|find) |^post \/node\//;

interface Writer {
  column: keyof typeof columns;
  /** How an error names the field: as itself, or where a document has it. */
  named?: RegExp;
  write(value: never): Promise<Answer>;
  read(): Promise<unknown>;
}

eachDatabase((database) => {
  let t: TestApp;
  beforeAll(async () => {
    t = await startTestApp(await database.url(), {}, undefined, now);
  });
  afterAll(() => t.stop());

  const server = { name: 'new1', title: 'T', city: 'C', country: 'DE', latitude: 1, longitude: 2 };
  const offered = { services: ['proxy'], hostname: 'new1.example.net' };
  const get = async (path: string) => (await t.operator.get(path)).body;
  const exits = async (name: string) =>
    (await get(`/servers/${name}`)).exit_ips.map(({ ip }: { ip: string }) => ip);

  /** The requests that write servers and their exits. */
  function ofServers(): Record<string, Writer> {
    const anew = async () => {
      await t.operator.delete('/servers/new1');
      await t.operator.put('/manifests/net?remove_all=true', {});
    };
    const inventory = (more: object) =>
      t.operator.post('/inventory', {
        servers: [{ ...server, ...offered, exit_ips: [], ...more }],
      });
    const manifest = (more: object) =>
      t.operator.put('/manifests/net', { servers: [{ ...server, ...offered, ...more }] });
    const exit = (ip: unknown) => ({
      exit_ips: [
        { ip: '192.0.2.1', port_base: 1 },
        { ip, port_base: 2 },
      ],
    });
    const second = async () => (await exits('new1'))[1];
    const ofFields = (['hostname', 'country', 'title', 'city'] as const).map(
      (field): Record<string, Writer> => {
        const column = field === 'title' || field === 'city' ? 'words' : field;
        const read = async () => (await get('/servers/new1'))?.[field];
        const write = (act: (more: object) => Promise<Answer>, named?: RegExp): Writer => ({
          ...{ column, read, write: (value) => act({ [field]: value }) },
          ...(named ? { named } : {}),
        });
        return {
          [`post /admin/servers /${field}`]: write(async (more) => {
            await anew();
            return t.operator.post('/servers', { ...server, ...offered, ...more });
          }),
          [`patch /admin/servers/{server} /${field}`]: write((more) =>
            t.operator.patch('/servers/new1', more),
          ),
          [`post /admin/inventory /servers/*/${field}`]: write(
            inventory,
            new RegExp(`servers\\[0\\], ${field}: `),
          ),
          [`put /admin/manifests/{manifest} /servers/*/${field}`]: write(
            manifest,
            new RegExp(`^servers[./]0[./]${field}: `),
          ),
        };
      },
    );
    return {
      ...Object.assign({}, ...ofFields),
      'put /admin/servers/{server}/exits/{ip} ip': {
        column: 'address',
        write: async (value) => {
          await t.operator.delete('/servers/new1/exits/2001:db8::1');
          const path = `/servers/new1/exits/${encodeURIComponent(value)}`;
          return t.operator.put(path, { port_base: 2 });
        },
        read: async () => (await exits('new1')).at(-1),
      },
      'post /admin/inventory /servers/*/exit_ips/*/ip': {
        column: 'address',
        named: /servers\[0\]\.exit_ips\[1\], ip: /,
        write: (value) => inventory(exit(value)),
        read: second,
      },
      'put /admin/manifests/{manifest} /servers/*/exit_ips/*/ip': {
        column: 'address',
        named: /^servers[./]0[./]exit_ips[./]1/,
        write: (value) => manifest(exit(value)),
        read: second,
      },
    };
  }

  function ofAccounts(): Record<string, Writer> {
    const wanted = {
      name: 'beta',
      plan: 'P',
      start: now - 120,
      expiry: now + year,
      limit_bytes: 1,
    };
    const writers: Record<string, Writer> = {};
    for (const field of ['start', 'expiry', 'plan'] as const) {
      const read = async () => (await get('/accounts/beta'))[field];
      const body = (value: unknown) => ({ ...wanted, [field]: value });
      let made = 0;
      const add = (key: string, writer: Pick<Writer, 'write'> & Partial<Writer>) => {
        writers[`${key}${field}`] = {
          column: field === 'plan' ? 'words' : `contract_${field}`,
          read,
          ...writer,
        };
      };
      add('post /admin/accounts /', {
        write: (value) =>
          t.operator.post('/accounts', { ...body(value), name: `n${field}${made++}` }),
        read: async () => (await get(`/accounts/n${field}${made - 1}`))[field],
      });
      add('patch /admin/accounts/{account} /', {
        write: (value) => t.operator.patch('/accounts/beta', { [field]: value }),
      });
      add('put /admin/manifests/{manifest} /accounts/*/', {
        named: new RegExp(`^accounts[./]0[./]${field}: `),
        write: (value) => t.operator.put('/manifests/net', { accounts: [body(value)] }),
      });
      if (field !== 'expiry') continue;
      add('patch /admin/accounts /accounts/*/', {
        named: /^accounts\.0\.expiry: /,
        write: (value) =>
          t.operator.patch('/accounts', { accounts: [{ account: 'beta', expiry: value }] }),
      });
    }
    return writers;
  }

  /** The requests about both lists and the tokens, for each audience that has them. */
  function ofLists(): Record<string, Writer> {
    const acme = () => t.as(made.acme);
    const audiences: Array<[keys: string, client: () => TestClient, base: string, list: string]> = [
      ['/v0/contract/', acme, '/contract', 'ip-authlist'],
      ['/v0/contract/', () => t.as(made.acme, 'earlier'), '/contract', 'whitelist'],
      ['/console/', () => made.alice, '', 'authlist'],
      ['/admin/accounts/{account}/', () => t.operator, '/accounts/acme', 'authlist'],
    ];
    const writers: Record<string, Writer> = {};
    for (const [keys, client, base, list] of audiences) {
      const entry = { user: 'alice', ip: '192.0.2.77', expiry: now + 600 };
      const override = {
        server: 'fra1',
        hostname: 'a.example',
        ip: '192.0.2.7',
        expiry: now + 600,
      };
      const kinds = [
        [list, entry, { ip: 'address', expiry: 'expiry' }],
        ['overrides', override, { hostname: 'hostname', ip: 'address', expiry: 'expiry' }],
        ['tokens', { name: 'n', read_only: true }, { expiry: 'expiry' }],
      ] as const;
      const lists = list === 'whitelist' ? 1 : keys === '/v0/contract/' ? 2 : 3;
      for (const [of, body, fields] of kinds.slice(0, lists)) {
        const path = `${base}/${of}`;
        const clear = async () => {
          if (of !== 'tokens') return client().delete(path);
          const tokens = (await client().get(path)).body as Array<{ id: number; name: string }>;
          for (const { id, name } of tokens)
            if (name === 'n') await client().delete(`${path}/${id}`);
        };
        const anew = async (more: object = {}) => {
          await clear();
          return client().post(path, { ...body, ...more });
        };
        for (const [field, column] of Object.entries(fields)) {
          const read = async () => (await client().get(path)).body.at(-1)[field];
          const add = (key: string, writer: Pick<Writer, 'write'> & Partial<Writer>) => {
            writers[key] = { column, read, ...writer };
          };
          const key = `${keys}${of}`;
          add(`post ${key} /${field}`, { write: (value) => anew({ [field]: value }) });
          if (of === 'tokens') continue;
          add(`patch ${key}/{id} /${field}`, {
            write: async (value) => {
              const { id } = (await anew()).body;
              return client().patch(`${path}/${id}`, { [field]: value });
            },
          });
          if (keys === '/v0/contract/' || field !== 'expiry') continue;
          add(`patch ${key} /entries/*/expiry`, {
            named: /^entries\.0\.expiry: /,
            write: async (value) => {
              const { id } = (await anew()).body;
              return client().patch(path, { entries: [{ id, expiry: value }] });
            },
          });
        }
      }
      if (keys === '/v0/contract/') continue;
      const path = `${base}/authlist`;
      const paste = async (more: object) => {
        await client().delete(path);
        const { ip: addresses, ...others } = entry;
        return client().post(`${path}/add`, { addresses, ...others, ...more });
      };
      const read = (field: string) => async () => (await client().get(path)).body.at(-1)[field];
      writers[`post ${keys}authlist/add /addresses`] = {
        column: 'address',
        named: /^addresses: /,
        // A line has no blanks around it.
        write: (value) =>
          paste({ addresses: typeof value === 'string' ? `${value}`.replace(/^ /, 'x') : value }),
        read: read('ip'),
      };
      writers[`post ${keys}authlist/add /expiry`] = {
        column: 'expiry',
        write: (value) => paste({ expiry: value }),
        read: read('expiry'),
      };
    }
    return writers;
  }

  const made = {} as { acme: { api_token: string }; alice: TestClient };
  const writers = (): Record<string, Writer> => ({ ...ofServers(), ...ofAccounts(), ...ofLists() });

  test('the table has all requests that write such a value', () => {
    const stored = requestsWith(fieldNames).filter((field) => !notStored.test(field));
    expect(Object.keys(writers()).toSorted()).toEqual(stored.toSorted());
  });

  describe('is refused where it cannot be, and stored in its one spelling:', () => {
    beforeAll(async () => {
      await t.server('fra1');
      made.acme = await t.account('acme', { servers: ['fra1'] });
      made.alice = await t.signIn('acme', 'alice');
      await t.operator.post('/servers', { ...server, ...offered });
      const beta = {
        name: 'beta',
        plan: 'P',
        start: now - 120,
        expiry: now + year,
        limit_bytes: 1,
      };
      await t.operator.post('/accounts', beta);
    });

    test.each(Object.keys(writers()))('%s', async (key) => {
      const { column, named, write, read } = writers()[key] as Writer;
      const field = key.split('/').at(-1)?.split(' ').at(-1);
      const { bad, good } = columns[column];
      for (const value of bad.filter((value) => isDrawnOf(3, `${key} ${value}`))) {
        const { status, body } = await write(value as never);
        const seen = `${JSON.stringify(value)}: ${JSON.stringify(body)}`;
        expect(status, seen).toBe(400);
        expect(body.message, seen).toMatch(named ?? new RegExp(`^${field}: `));
      }
      for (const [written, stored] of good) {
        const { status, body } = await write(written as never);
        expect([200, 201], JSON.stringify(body)).toContain(status);
        expect(await read(), String(written)).toBe(stored);
      }
    });
  });

  test.each([
    ['post', '/accounts/acme/users', { name: 'blank', display_name: ' ' }, 'display_name'],
    ['patch', '/accounts/acme/users/alice', { display_name: '\t' }, 'display_name'],
    ['post', '/accounts/acme/tokens', { name: ' ', read_only: true }, 'name'],
  ] as const)('%s %s refuses a blank text by its field', async (method, path, body, field) => {
    const answer = await t.operator[method](path, body);
    expect([answer.status, answer.body.field]).toEqual([400, field]);
  });
});

interface Schema {
  $ref?: string;
  anyOf?: Schema[];
  items?: Schema;
  properties?: Record<string, Schema>;
}

interface Operation {
  requestBody?: { content: Record<string, { schema: Schema }> };
  parameters?: Array<{ name: string }>;
}

/**
 * The requests of the OpenAPI document that have a field of one of these names: `METHOD PATH WAY`.
 */
function requestsWith(names: readonly string[]): string[] {
  const file = new URL('../../docs/openapi.json', import.meta.url);
  const document = JSON.parse(readFileSync(file, 'utf8'));
  const requests = new Set<string>();
  const resolve = (schema: Schema): Schema => {
    if (schema.$ref === undefined) return schema;
    return schema.$ref
      .slice(2)
      .split('/')
      .reduce((at, word) => at[word], document);
  };
  const walk = (given: Schema, way: string, request: string): void => {
    const { anyOf = [], items, properties = {} } = resolve(given);
    for (const schema of anyOf) walk(schema, way, request);
    if (items) walk(items, `${way}/*`, request);
    for (const [name, schema] of Object.entries(properties)) {
      if (names.includes(name)) requests.add(`${request} ${way}/${name}`);
      walk(schema, `${way}/${name}`, request);
    }
  };
  for (const [path, methods] of Object.entries<Record<string, Operation>>(document.paths)) {
    for (const method of ['post', 'put', 'patch']) {
      const { requestBody, parameters = [] } = methods[method] ?? {};
      const schema = requestBody?.content['application/json']?.schema;
      if (schema) walk(schema, '', `${method} ${path}`);
      for (const { name } of parameters)
        if (names.includes(name)) requests.add(`${method} ${path} ${name}`);
    }
  }
  return [...requests];
}
