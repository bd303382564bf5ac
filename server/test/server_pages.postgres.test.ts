// The servers of the network in pages: sorted, filtered by how they stand, by keyset; their places;
// many changed at once.

import fc from 'fast-check';
import { beforeAll, expect, test } from 'vitest';
import { tries } from '../../test/effort.ts';
import type { Row } from '../src/db/database.ts';
import { eachApp } from './apps.ts';
import { assertForChoices, ordersBy, queryOf } from './choices.ts';
import { readPages } from './client.ts';
import type { Answer } from './harness.ts';

interface Listed {
  name: string;
  hostname: string;
  title: string;
  city: string;
  country: string;
  latitude: number;
  longitude: number;
  services: string[];
  port_schemes: string[];
  ip_count: number;
  exits: Record<'ok' | 'warn' | 'crit' | 'unknown', number>;
  nodes: Record<'all' | 'live' | 'drained' | 'lag', number>;
}

const states = ['bad', 'drained', 'warn', 'neutral', 'good'] as const;
function stateOf({ nodes: { all, live, drained, lag } }: Listed): (typeof states)[number] {
  if (all === 0) return 'neutral';
  if (live === 0) return 'bad';
  if (live < all) return 'warn';
  if (drained === live) return 'drained';
  return drained > 0 || lag > 0 ? 'warn' : 'good';
}
const lower = (text: string) => text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
const order = (a: string | number, b: string | number) => (a < b ? -1 : a > b ? 1 : 0);
const idOf = (name: string) => Number(name.slice(1));
const sorts: Record<string, (server: Listed) => string | number> = {
  id: ({ name }) => idOf(name),
  name: ({ name }) => name,
  title: ({ title }) => lower(title),
  ip_count: ({ ip_count }) => ip_count,
  nodes: (server) => states.indexOf(stateOf(server)),
};

const places = [
  { city: 'Zürich', country: 'CH', latitude: 47.3769, longitude: 8.5417 },
  { city: 'Frankfurt', country: 'DE', latitude: 50.1155, longitude: 8.6842 },
  { city: 'Berlin', country: 'DE', latitude: 52.52, longitude: 13.4 },
  { city: 'Lima', country: 'PE', latitude: -12.0464, longitude: -77 },
];
const titles = ['zürich West', 'Zürich', 'Frankfurt', 'frankfurt 2', 'Ärmel', 'a_b', '100%']
  // As patterns of SQL, the two before would find these.
  .concat('axb', '1000');
const many = 240;

eachApp((t) => {
  const list = async () => (await t.operator.get('/servers')).body as Listed[];
  beforeAll(async () => {
    const bases = [{ base: 20_000, service: 'proxy' }];
    await t.operator.post('/port_schemes', { name: 'high', bases });
    const now = t.now();
    const servers = Array.from({ length: many }, (_, at): Row & { id: number } => ({
      id: at + 1,
      name: `s${String(at + 1).padStart(4, '0')}`,
      hostname: `H${(at * 31) % many}.example`.toLowerCase(),
      title: titles[at % titles.length] as string,
      ...(places[(at * 7) % places.length] as (typeof places)[number]),
      services: JSON.stringify(at % 3 === 0 ? ['proxy'] : ['proxy-https', 'vpn-ikev2']),
      applied_revision: 0,
      created_at: now,
    }));
    const exits = servers.flatMap(({ id }) =>
      Array.from({ length: id % 4 }, (_, at) => ({
        ...{ server_id: id, ip: `198.51.${id}.${at}`, port_base: at },
        status: ['ok', 'ok', 'ok', 'warn', 'crit'][(id * 3 + at) % 5] as string,
        status_time: (id + at) % 11 === 0 ? now - 100_000 : now,
      })),
    );
    await t.write(async (tx) => {
      await tx.insertMany('servers', servers);
      await tx.insertMany('counters', [{ account_id: 0, list: 'servers', last: many }]);
      await tx.insertMany('exit_ips', exits);
      await tx.insertMany(
        'geo_statuses',
        exits
          .filter(({ server_id }) => server_id % 17 < 2)
          .map(({ ip, server_id }) => ({
            ...{ ip, provider: 'one', status_time: now },
            status: server_id % 17 === 0 ? 'crit' : 'ok',
            ...{ country: 'US', distance_km: 1 },
          })),
      );
      await tx.insertMany(
        'server_port_schemes',
        servers.map(({ id }) => ({ server_id: id, port_scheme_id: id % 5 === 0 ? 2 : 1 })),
      );
    });
    const slow = await t.account('slow', { servers: ['s0202', 's0208', 's0211'] });
    const { revision } = (await t.operator.get('/status')).body.database;
    // Of each server a few nodes: offline, drained, up to date, or behind where something changes
    // below.
    const nodes = servers.flatMap(({ id }) =>
      Array.from({ length: (id * 5) % 3 }, (_, at) => ({
        ...{ server_id: id, name: `n${at}`, hash: `${id} ${at}`, version: '1', joined_at: now },
        ...{ applied_revision: revision, seen_at: now, revoked_at: null, reported_until: 0 },
        live: (id + at) % 5 === 0 ? 0 : 1,
        drained_at: (id + 2 * at) % 7 === 0 ? now : null,
      })),
    );
    await t.write((tx) =>
      tx.insertMany(
        'nodes',
        nodes.map((node, at) => ({ id: at + 1, ...node })),
      ),
    );
    // A change of an account concerns the nodes of its servers alone.
    await t.user(slow, 'bob');
    for (const id of [3, 4, 5, 7, 8, 10, 11, 13]) {
      const server = `s${String(id).padStart(4, '0')}`;
      await t.operator.patch(`/servers/${server}`, { services: ['proxy'] });
    }
  });

  const pages = (query: string, between?: (at: number) => Promise<unknown>) =>
    readPages<Listed>(t.operator, `/servers?${query}`, between);

  const isOf: Record<string, (server: Listed, wanted: string) => boolean> = {
    search: ({ name, hostname, title, city, country }, wanted) =>
      `${name}\n${hostname}\n${lower(title)}\n${lower(city)}\n${lower(country)}`.includes(
        lower(wanted),
      ) ||
      (idOf(name) % 4 > 0 && `198.51.${idOf(name)}.0`.includes(wanted)),
    country: ({ country }, wanted) => country === wanted,
    service: ({ services }, wanted) => services.includes(wanted),
    port_scheme: ({ port_schemes }, wanted) => port_schemes.includes(wanted),
    nodes: (server, wanted) => stateOf(server) === wanted,
    exits: ({ exits, ip_count, name }, wanted) =>
      wanted === 'misplaced'
        ? idOf(name) % 17 === 0 && ip_count > 0
        : wanted === 'ok'
          ? ip_count > 0 && exits.ok === ip_count
          : exits[wanted as keyof typeof exits] > 0,
    places: ({ latitude, longitude }, wanted) =>
      wanted.split(';').includes(`${latitude},${longitude}`),
  };
  const choices = {
    search: ['s00', 'zürich', 'WEST', 'a_b', '100%', 'h1', '198.51.2', 'pe'],
    country: ['DE', 'PE', 'US'],
    service: ['proxy', 'vpn-ikev2'],
    port_scheme: ['default', 'high', 'none'],
    nodes: states,
    exits: ['ok', 'warn', 'crit', 'unknown', 'misplaced'],
    places: ['50.1155,8.6842', '-12.0464,-77;47.3769,8.5417', '1,1'],
    by: ordersBy(Object.keys(sorts)),
  };
  const fits = (filter: object) => (server: Listed) =>
    Object.entries(filter).every(([name, wanted]) => isOf[name]?.(server, wanted));

  test('a filter finds the servers that say so of themselves, in the order that is asked for, and counts them', async () => {
    const all = await list();
    expect(new Set(all.map(stateOf)).size).toBe(states.length);
    const lagging = all.filter(({ nodes }) => nodes.lag > 0).map(({ name }) => name);
    expect(lagging).toContain('s0202');
    expect(lagging.length).toBeLessThan(20);
    await assertForChoices(
      choices,
      tries(60),
      async ({ by = { sort: 'name', order: 'asc' }, ...filter }) => {
        const { answers, rows } = await pages(`${queryOf({ ...filter, ...by, limit: 90 })}`);
        const keyOf = sorts[by.sort] as (server: Listed) => string | number;
        const direction = by.order === 'desc' ? -1 : 1;
        const result = all
          .filter(fits(filter))
          .sort((a, b) => (order(keyOf(a), keyOf(b)) || order(a.name, b.name)) * direction);
        expect(rows).toEqual(result);
        expect(answers[0]?.headers.get('exitward-found')).toBe(String(result.length));
        expect(answers[0]?.headers.get('exitward-total')).toBe(String(all.length));
      },
    );
  });

  test('each server that stays as it is is seen once, in order, whatever changes between the pages', async () => {
    let last = many;
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...Object.keys(sorts)),
        fc.boolean(),
        fc.array(fc.nat(many - 1), { minLength: 4, maxLength: 4 }),
        async (sort, isDescending, picks) => {
          const before = await list();
          const touched = new Set<string>();
          const order_of = isDescending ? 'desc' : 'asc';
          const { rows } = await pages(
            `${queryOf({ limit: 61, sort, order: order_of })}`,
            async (at) => {
              const { name = '' } = before[(picks[at - 1] ?? 0) % before.length] ?? {};
              if (touched.has(name)) return;
              touched.add(name);
              const title = `moved ${at}`;
              if (at % 2 === 0) await t.operator.delete(`/servers/${name}`);
              else await t.operator.patch(`/servers/${name}`, { title });
              await t.server(`s${++last}`, { exit_ips: [], title });
            },
          );
          const keyOf = sorts[sort] as (server: Listed) => string | number;
          const stay = before
            .filter(({ name }) => !touched.has(name))
            .sort(
              (a, b) =>
                (order(keyOf(a), keyOf(b)) || idOf(a.name) - idOf(b.name)) *
                (isDescending ? -1 : 1),
            )
            .map(({ name }) => name);
          const expected = new Set(stay);
          expect(rows.map(({ name }) => name).filter((name) => expected.has(name))).toEqual(stay);
        },
      ),
      { numRuns: tries(6) },
    );
  });

  test('the status counts the exit IPs of all servers by status', async () => {
    const { exits } = (await t.operator.get('/status')).body;
    const all = await list();
    for (const status of ['ok', 'warn', 'crit', 'unknown'] as const) {
      expect(exits[status]).toBe(all.reduce((sum, server) => sum + server.exits[status], 0));
    }
  });

  test('the places hold each server once, by the worse of its nodes and its exit IPs', async () => {
    const all = await list();
    const { body } = await t.operator.get('/servers/places');
    const toneOf = (server: Listed) => {
      const { crit, warn, unknown } = server.exits;
      const state = stateOf(server);
      if (crit > 0 || state === 'bad' || state === 'drained') return 'bad';
      if (warn > 0 || state === 'warn') return 'warn';
      return unknown > 0 || server.ip_count === 0 || state === 'neutral' ? 'neutral' : 'good';
    };
    const byPlace = Map.groupBy(all, ({ country, city, latitude, longitude }) =>
      JSON.stringify({ country, city, latitude, longitude }),
    );
    const expected = Array.from(byPlace, ([place, servers]) => ({
      ...JSON.parse(place),
      servers: servers.length,
      states: Object.fromEntries(
        ['good', 'warn', 'bad', 'neutral'].map((tone) => [
          tone,
          servers.filter((server) => toneOf(server) === tone).length,
        ]),
      ),
      server: servers.length === 1 ? servers[0]?.name : null,
    })).sort((a, b) => order(`${a.country}${a.city}`, `${b.country}${b.city}`));
    expect(body).toEqual(expected);
  });

  test('many servers get other services and port schemes, all or none, each audited', async () => {
    const names = (await list()).slice(0, 40).map(({ name }) => name);
    const body = { servers: names, services: ['vpn-l2tp'], port_schemes: ['default', 'high'] };
    const { revision } = (await t.operator.get('/status')).body.database;
    const changed = await t.operator.patch('/servers', body);
    expect([changed.status, changed.body]).toEqual([200, { servers: 40 }]);
    const now = new Map((await list()).map((server) => [server.name, server]));
    for (const name of names) {
      const { services, port_schemes } = now.get(name) as Listed;
      expect([services, port_schemes]).toEqual([['vpn-l2tp'], ['default', 'high']]);
    }
    const status = (await t.operator.get('/status')).body;
    expect(status.database.revision).toBeGreaterThanOrEqual(revision + 40);
    const log = await t.operator.get('/audit?limit=40');
    expect(new Set(log.body.map(({ target }: { target: string }) => target))).toEqual(
      new Set(names),
    );
  });

  test('what is wrong with one of many is named by its place, and nothing is done', async () => {
    const names = (await list()).map(({ name }) => name).filter((name) => name > 's0030');
    const [first = '', other = '', used = ''] = names;
    await t.account('acme', { servers: [used] });
    // Only now: the nodes of that server lag behind the account.
    const before = await list();
    const refusals: Array<[Promise<Answer>, number, string, string]> = [
      [
        t.operator.post('/servers/remove', { servers: [first, 'none'] }),
        404,
        'not_found',
        'servers.1',
      ],
      [
        t.operator.post('/servers/remove', { servers: [first, other, used] }),
        ...([409, 'server_in_use', 'servers.2'] as const),
      ],
      [
        t.operator.patch('/servers', { servers: [first, used], port_schemes: ['high'] }),
        ...([409, 'port_scheme_in_use', 'servers.1'] as const),
      ],
      [
        t.operator.patch('/servers', { servers: [first], port_schemes: ['none'] }),
        ...([409, 'unknown_port_scheme', 'port_schemes'] as const),
      ],
      [t.operator.patch('/servers', { servers: [first] }), 400, 'invalid_field', 'services'],
      [t.operator.post('/servers/remove', { servers: [] }), 400, 'invalid_field', 'servers'],
      [
        t.operator.post('/servers/remove', { servers: [first, first] }),
        400,
        'invalid_field',
        'servers',
      ],
    ];
    for (const [answer, ...says] of refusals) {
      const { status, body } = await answer;
      expect([status, body.code, body.field]).toEqual(says);
    }
    expect(await list()).toEqual(before);
  });

  test('many servers are removed at once', async () => {
    const before = await list();
    const servers = before
      .map(({ name }) => name)
      .filter((name) => name > 's0100' && name < 's0120');
    const removed = await t.operator.post('/servers/remove', { servers });
    expect([removed.status, removed.body]).toEqual([200, { servers: servers.length }]);
    expect(await list()).toEqual(before.filter(({ name }) => !servers.includes(name)));
  });

  test.each([
    ['limit=0', 'limit'],
    ['sort=name', 'sort'],
    ['limit=10&sort=city', 'sort'],
    ['limit=10&nodes=lost', 'nodes'],
    ['limit=10&exits=fine', 'exits'],
    ['limit=10&service=ftp', 'service'],
    ['limit=10&country=UK', 'country'],
    ['limit=10&places=here', 'places'],
    ['limit=10&ends_before=1', 'ends_before'],
  ])('%s is refused by its field', async (query, field) => {
    const { status, body } = await t.operator.get(`/servers?${query}`);
    expect([status, body.field]).toEqual([400, field]);
  });

  test.each(['places', 'add', 'remove'])(
    'no server can be called %s, which is a path',
    async (name) => {
      const { places: _, ...body } = {
        ...{ places, name, hostname: 'x.example', title: 'X', services: ['proxy'] },
        ...places[0],
      };
      const answer = await t.operator.post('/servers', body);
      expect([answer.status, answer.body.field]).toEqual([400, 'name']);
      const { name: __, ...rest } = body;
      const inventory = { servers: [{ ...rest, name, exit_ips: [] }] };
      expect((await t.operator.post('/inventory', inventory)).status).toBe(400);
    },
  );
});
