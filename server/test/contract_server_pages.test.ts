// The servers of a contract and of the network in pages, by their places, and many put on the
// contract or taken off it at once.

import { beforeAll, describe, expect, test } from 'vitest';
import { tries } from '../../test/effort.ts';
import { eachApp } from './apps.ts';
import type { BuiltAccount } from './builders.ts';
import { assertForChoices, ordersBy, queryOf } from './choices.ts';
import { readPages } from './client.ts';
import { type Answer, type Browser, startTestApp } from './harness.ts';

interface Exit {
  ip: string;
  status: 'ok' | 'warn' | 'crit' | 'unknown';
  geostatus: Record<string, { status: string }>;
}
interface Own {
  server: string;
  usage: { current: number; last_30_days: number };
  limit_bytes: number | null;
  over_limit: boolean;
  added_at: number;
  nodes: { all: number; live: number };
  ips: Exit[];
}
interface Any {
  server: string;
  hostname: string;
  title: string;
  ip_count: number;
  services: string[];
  location: { city: string; country: string };
  can_add: boolean;
  own?: unknown;
}
/** A server of the network, with what the contract knows of it. */
type Row = Any & { id: number; is: Own | undefined };

const states = ['ok', 'warn', 'crit', 'unknown', 'not_connected', 'no_node'];
function stateOf({ nodes, ips }: Own): string {
  if (nodes.all === 0) return 'no_node';
  if (nodes.live === 0) return 'not_connected';
  return (
    ['crit', 'warn', 'unknown'].find((state) => ips.some(({ status }) => status === state)) ??
    (ips.length > 0 ? 'ok' : 'unknown')
  );
}
const standsSo = ({ is }: Row, state: string) =>
  is !== undefined &&
  (state === 'over_limit'
    ? is.over_limit
    : state === 'misplaced'
      ? is.ips.some(({ geostatus }) =>
          Object.values(geostatus).some((status) => status.status === 'crit'),
        )
      : stateOf(is) === state ||
        (['crit', 'warn', 'unknown'].includes(state) &&
          is.nodes.all > 0 &&
          is.ips.some(({ status }) => status === state)));
const keys: Record<string, (row: Row) => string | number> = {
  id: ({ id }) => id,
  name: ({ server }) => server,
  place: ({ server, location: { city, country } }) => `${city}, ${country}, ${server}`,
  ip_count: ({ ip_count }) => ip_count,
  state: ({ is, server }) => `${is ? states.indexOf(stateOf(is)) : ' '}${server}`,
  current: ({ is }) => is?.usage.current ?? -1,
  last_30_days: ({ is }) => is?.usage.last_30_days ?? -1,
  limit_bytes: ({ is }) => (is ? (is.limit_bytes ?? 0) : -1),
  added_at: ({ is }) => is?.added_at ?? -1,
};
const views: Record<string, (row: Row) => boolean> = {
  contract: ({ is }) => is !== undefined,
  others: ({ is }) => is === undefined,
  can_add: ({ can_add }) => can_add,
  all: () => true,
};
const order = (a: string | number, b: string | number) => (a < b ? -1 : a > b ? 1 : 0);
const countryNames: Record<string, string> = { DE: 'germany', US: 'united states', BR: 'brazil' };
const places = [
  ['Frankfurt am Main', 'DE', 50.11, 8.68],
  ['Berlin', 'DE', 52.52, 13.4],
  ['Washington, D.C.', 'US', 38.9, -77.03],
  ['São Paulo', 'BR', -23.55, -46.63],
] as const;

eachApp((t, database) => {
  let acme: BuiltAccount;
  let alice: Browser;
  const names = Array.from({ length: 24 }, (_, at) => `s${String((at * 7) % 24).padStart(2, '0')}`);
  const own = names.filter((_, at) => at % 3 > 0);
  beforeAll(async () => {
    await t.operator.post('/port_schemes', {
      name: 'high',
      bases: [{ base: 40000, service: 'proxy' }],
    });
    for (const [at, name] of names.entries()) {
      const [city, country, latitude, longitude] = places[at % 4] ?? places[0];
      const exit_ips = Array.from({ length: at % 4 }, (_, exit) => `198.51.${at}.${exit}`);
      const services: ['proxy'] | ['proxy', 'vpn-ikev2'] =
        at % 2 === 0 ? ['proxy'] : ['proxy', 'vpn-ikev2'];
      const port_schemes = [at % 6 === 0 ? 'high' : 'default'];
      const place = { title: `Metro ${at % 5}`, city, country, latitude, longitude };
      await t.server(name, { ...place, exit_ips, services, port_schemes });
    }
    acme = await t.account('acme', { servers: own });
    await t.account('other', { servers: own.slice(0, 3) });
    alice = await t.signIn('acme', 'alice');
    const { id: account_id, start } = acme.account;
    const ids = new Map<string, number>();
    await t.write(async (tx) => {
      for (const { id, name } of await tx.all<{ id: number; name: string }>(
        'select id, name from servers',
      ))
        ids.set(name, id);
      for (const [at, name] of own.entries()) {
        const server_id = ids.get(name) as number;
        const period_start = at % 2 === 0 ? start : start - 86_400 * 30;
        const bytes = 1000 * (at % 4);
        await tx.insertMany('usage_periods', [{ account_id, server_id, period_start, bytes }]);
        const hour = t.now() - (t.now() % 3600) - 86_400 * (at % 2 === 0 ? 1 : 40);
        await tx.insertMany('usage_server_hours', [{ account_id, server_id, hour, bytes }]);
        await tx.run(
          'update contract_servers set added_at = $1, limit_bytes = $2, over_limit = $4 where server_id = $3',
          [t.now() - 60 * (at % 5), at % 3 === 0 ? null : 1e9 + at, server_id, at === 4 ? 1 : 0],
        );
        const now = t.now();
        const status = ['ok', 'warn', 'crit'][at % 3] as string;
        await tx.run(
          'update exit_ips set status = $1, status_time = $2 where server_id = $3 and port_base <= $4',
          [status, now - (at % 5 === 0 ? 100_000 : 0), server_id, 1 + (at % 2)],
        );
      }
    });
    for (const [at, name] of own.entries()) {
      if (at % 4 === 0) continue;
      const node = await t.node(name);
      await t.write((tx) =>
        tx.run('update nodes set live = $1 where id = $2', [at % 4 === 1 ? 0 : 1, node.id]),
      );
    }
    await t.write((tx) =>
      tx.insertMany(
        'geo_statuses',
        [2, 7, 11].map((at) => ({
          ...{ ip: `198.51.${at}.0`, provider: 'maxmind', status: 'crit', status_time: 1 },
          ...{ country: 'FR', distance_km: null },
        })),
      ),
    );
  });

  const pages = (path: string) => readPages<Any>(alice, path);
  /** The whole network by ids, from the lists without a limit. */
  async function network(): Promise<Row[]> {
    const of = new Map(
      ((await alice.get('/servers')).body as Own[]).map((server) => [server.server, server]),
    );
    const all = (await alice.get('/network')).body as Any[];
    return names.map((name, at) => ({
      ...(all.find(({ server }) => server === name) as Any),
      ...{ id: at + 1, is: of.get(name) },
    }));
  }
  const fits = (row: Row, { search = '', ...filter }: Partial<Record<string, string>>) => {
    const { server, hostname, title, location, is } = row;
    const { city, country } = location;
    const texts = [server, hostname, title, city, countryNames[country] ?? ''];
    const ips = is?.ips.map(({ ip }) => ip) ?? [];
    return (
      [...texts, ...ips].some((text) => text.toLowerCase().includes(search.toLowerCase())) &&
      (filter.server ?? server) === server &&
      (filter.country ?? country) === country &&
      (filter.service === undefined ||
        row.services.some(
          (service) =>
            service === filter.service || (filter.service === 'vpn' && service.startsWith('vpn')),
        )) &&
      (filter.state === undefined || standsSo(row, filter.state)) &&
      (filter.places === undefined || filter.places.split('|').includes(`${country} ${city}`))
    );
  };

  test('a page holds the rows of the whole list that its filters name, in its order, and counts them', async () => {
    const all = await network();
    const choices = {
      search: ['s1', 'METRO 3', 'exitward', 'paulo', 'german', '198.51.', '%', 'q'],
      server: ['s03', 'nowhere'],
      country: ['DE', 'US', 'FR'],
      service: ['proxy', 'vpn-ikev2', 'vpn-l2tp', 'vpn'],
      state: [...states, 'misplaced', 'over_limit'],
      places: ['DE Berlin', 'DE Berlin|US Washington, D.C.', 'BR São Paulo', 'FR Paris'],
      by: ordersBy(Object.keys(keys)),
      view: Object.keys(views),
      limit: [3, 7, 1000],
    };
    await assertForChoices(
      choices,
      tries(60),
      async ({ by = { sort: 'name', order: 'asc' }, view = 'all', limit = 1000, ...filter }) => {
        const request = { ...filter, ...by, limit };
        const inView = all.filter((row) => views[view]?.(row));
        const keyOf = keys[by.sort] as (row: Row) => string | number;
        const direction = by.order === 'desc' ? -1 : 1;
        const result = inView
          .filter((row) => fits(row, filter))
          .sort((a, b) => (order(keyOf(a), keyOf(b)) || a.id - b.id) * direction)
          .map(({ server }) => server);
        const { answers, rows } = await pages(`/network?${queryOf({ ...request, view })}`);
        expect(rows.map(({ server }) => server)).toEqual(result);
        const counts = (answer: Answer | undefined) => [
          answer?.headers.get('exitward-total'),
          answer?.headers.get('exitward-found'),
        ];
        expect(counts(answers[0])).toEqual([String(inView.length), String(result.length)]);
        if (view !== 'contract') return;
        const full = await pages(`/servers?${queryOf(request)}`);
        expect(full.rows.map(({ server }) => server)).toEqual(result);
        expect(full.rows).toEqual(
          result.map((name) => all.find(({ server }) => server === name)?.is),
        );
        expect(counts(full.answers[0])).toEqual(counts(answers[0]));
      },
    );
  });

  test('a row says of a server what the whole lists say, and how it stands on the contract', async () => {
    const all = await network();
    const { rows } = await pages('/network?limit=1000');
    expect(rows.map(({ own: _, ...row }) => row)).toEqual(
      all.map(({ id: _, is: __, ...row }) => row),
    );
    const expected = all.map(({ is }) => {
      if (!is) return undefined;
      const { current, last_30_days } = is.usage;
      const many = (of: string) => is.ips.filter(({ status }) => status === of).length;
      return {
        exits: { ok: many('ok'), warn: many('warn'), crit: many('crit'), unknown: many('unknown') },
        ...{ nodes: is.nodes, current, last_30_days, added_at: is.added_at },
        ...{ limit_bytes: is.limit_bytes, over_limit: is.over_limit },
      };
    });
    expect(rows.map(({ own }) => own)).toEqual(expected);
    const seen = new Set(all.flatMap(({ is }) => (is ? stateOf(is) : [])));
    expect(seen).toEqual(new Set(states));
  });

  test('the places show all servers of the network, and the state of those on the contract', async () => {
    const all = await network();
    const { status, body } = await alice.get('/network/places');
    expect(status).toBe(200);
    const expected = places
      .map(([city, country, latitude, longitude]) => {
        const here = all.filter(({ location }) => location.city === city);
        const many = (of: string) =>
          here.filter(({ is }) => (is ? stateOf(is) : 'others') === of).length;
        return {
          ...{ city, country, latitude, longitude, servers: here.length, server: null },
          states: Object.fromEntries([...states, 'others'].map((state) => [state, many(state)])),
        };
      })
      .sort((a, b) => order(`${a.country} ${a.city}`, `${b.country} ${b.city}`));
    expect(body).toEqual(expected);
    await t.server('lonely', { city: 'Nuuk', country: 'GL' });
    const { body: after } = await t.operator.get('/accounts/acme/network/places');
    const nuuk = after.find(({ city }: { city: string }) => city === 'Nuuk');
    expect(nuuk).toMatchObject({ servers: 1, server: 'lonely', states: { others: 1 } });
    expect((await t.operator.delete('/servers/lonely')).status).toBe(204);
  });

  test('one server of the contract is read by its name, as the list has it', async () => {
    const { body } = await alice.get('/servers');
    for (const row of body.slice(0, 3) as Own[]) {
      expect((await alice.get(`/servers/${row.server}`)).body).toEqual(row);
      expect((await t.operator.get(`/accounts/acme/servers/${row.server}`)).body).toEqual(row);
    }
    expect((await alice.get('/servers/nowhere')).status).toBe(404);
    expect((await alice.get(`/servers/${names[0]}`)).status).toBe(404);
  });

  test.each([
    ['sort=name', 'sort'],
    ['limit=10&sort=hostname', 'sort'],
    ['limit=10&state=good', 'state'],
    ['limit=10&service=ftp', 'service'],
    ['limit=10&country=Germany', 'country'],
    ['limit=10&country=XX', 'country'],
    ['limit=10&ends_before=5', 'ends_before'],
    ['limit=0', 'limit'],
  ])('%s is refused by its field', async (query, field) => {
    for (const list of ['servers', 'network']) {
      const { status, body } = await alice.get(`/${list}?${query}`);
      expect([status, body.field], list).toEqual([400, field]);
    }
  });

  describe('many at once', () => {
    const onContract = async () =>
      ((await alice.get('/servers')).body as Own[]).map(({ server }) => server);
    // On the account's port scheme, and not on the contract.
    const addable = names.filter((_, at) => at % 3 === 0 && at % 6 !== 0);

    test('they are added and taken off together, each in the audit log, with the limit that each had', async () => {
      const before = await onContract();
      const [first = ''] = own;
      const added = await alice.post('/servers/add', { servers: [...addable, first] });
      expect([added.status, added.body]).toEqual([200, { added: addable.length }]);
      expect(await onContract()).toEqual([...before, ...addable].sort());
      const audited = await alice.get(`/audit?action=contract_server.add&limit=${addable.length}`);
      expect(new Set(audited.body.map(({ target }: { target: string }) => target))).toEqual(
        new Set(addable),
      );
      await t.operator.put(`/accounts/acme/servers/${addable[0]}`, { limit_bytes: 5 });
      const removed = await alice.post('/servers/remove', { servers: addable });
      expect([removed.status, removed.body]).toEqual([200, { removed: addable.length }]);
      expect(await onContract()).toEqual(before);
      const again = await t.operator.post('/accounts/acme/servers/add', { servers: addable });
      expect(again.body).toEqual({ added: addable.length });
      expect((await alice.get(`/servers/${addable[0]}`)).body.limit_bytes).toBe(5);
      await alice.post('/servers/remove', { servers: addable });
    });

    test('one that cannot be added or taken off keeps all from it, and is named', async () => {
      const before = await onContract();
      const [row = ''] = addable;
      const [other = '', onHigh = ''] = names;
      const cases: Array<[verb: string, servers: string[], code: string, field: string]> = [
        ['add', [row, 'nowhere'], 'unknown_server', 'servers.1'],
        ['add', [row, other], 'port_scheme_missing', 'servers.1'],
        ['remove', [onHigh, row], 'server_not_on_contract', 'servers.1'],
        ['remove', ['nowhere'], 'server_not_on_contract', 'servers.0'],
      ];
      for (const [verb, servers, code, field] of cases) {
        const { status, body } = await alice.post(`/servers/${verb}`, { servers });
        expect([status, body.code, body.field], verb).toEqual([409, code, field]);
      }
      expect(await onContract()).toEqual(before);
      const wrong = [[], [row, row], Array.from({ length: 1001 }, (_, at) => `s-${at}`), 'all'];
      for (const servers of wrong) {
        const { status, body } = await alice.post('/servers/add', { servers });
        expect([status, body.field]).toEqual([400, expect.stringMatching(/^servers/)]);
      }
    });
  });

  test('people add no more servers in an hour than they may one by one', async () => {
    const few = await startTestApp(await database.url(), {
      EXITWARD_SERVER_ADDITIONS_PER_HOUR: '2',
    });
    for (const name of ['a', 'b', 'c']) await few.server(name);
    await few.account('acme');
    const admin = await few.signIn('acme', 'alice');
    const servers = ['a', 'b', 'c'];
    expect((await admin.post('/servers/add', { servers })).status).toBe(429);
    expect((await admin.post('/servers/add', { servers: ['a', 'b'] })).body).toEqual({ added: 2 });
    expect((await admin.put('/servers/c', undefined)).status).toBe(429);
    const byOperator = await few.operator.post('/accounts/acme/servers/add', { servers });
    expect(byOperator.body).toEqual({ added: 1 });
    await few.stop();
  });
});
