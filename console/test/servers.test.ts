// The list of servers: which are shown, in which order, and how a server's health is summed up.
import { describe, expect, test } from 'vitest';
import {
  isFiltering,
  type NetworkServer,
  noFilters,
  type OwnServer,
  rowsOf,
  shownRows,
  summaryOf,
} from '../src/servers/rows.ts';

const place = (city: string, country: string) => ({ city, country, latitude: 1, longitude: 2 });

function ownServer(server: string, given: Partial<OwnServer> = {}): OwnServer {
  return {
    server,
    hostname: `${server}.example`,
    title: server,
    services: ['proxy'],
    location: place('Frankfurt am Main', 'DE'),
    usage: { limit: 100, current: 0, last_30_days: 0 },
    nodes: { all: 1, live: 1 },
    limit_bytes: null,
    over_limit: false,
    added_at: 1,
    ips: [
      {
        ip: '192.0.2.1',
        port_base: 1,
        status: 'ok',
        status_time: 1,
        geostatus: {},
        ports: [{ port: 11_001, override_port: 11_501, service: 'proxy' }],
        vpn: [],
      },
    ],
    ...given,
  };
}

function networkServer(server: string, given: Partial<NetworkServer> = {}): NetworkServer {
  return {
    server,
    hostname: `${server}.example`,
    title: server,
    ip_count: 1,
    services: ['proxy'],
    location: place('Frankfurt am Main', 'DE'),
    limit_bytes: null,
    on_contract: false,
    can_add: true,
    ...given,
  };
}

const rows = rowsOf(
  [
    networkServer('fra10', { services: ['proxy', 'proxy-https'] }),
    networkServer('fra2'),
    networkServer('zrh1', { location: place('Zürich', 'CH') }),
    networkServer('syd1', { location: place('Sydney', 'AU'), services: ['vpn-ikev2'] }),
  ],
  [
    ownServer('fra10', { usage: { limit: 100, current: 5, last_30_days: 90 } }),
    ownServer('fra2', { usage: { limit: 100, current: 9, last_30_days: 10 } }),
    ownServer('zrh1', {
      ips: [{ ...ownServer('x').ips[0], ip: '2001:db8::7', status: 'crit' } as OwnServer['ips'][0]],
    }),
  ],
);
const shown = (changes: Partial<typeof noFilters>) =>
  shownRows(rows, { ...noFilters, ...changes }).map(({ name }) => name);

describe('summaryOf', () => {
  const of = (...statuses: Array<'ok' | 'warn' | 'crit' | 'unknown'>) =>
    summaryOf({ nodes: { all: 2, live: 1 }, ips: statuses.map((status) => ({ status })) });

  test('the worst exit IP decides, and it is said how many are like it', () => {
    expect(of('ok', 'ok')).toEqual({ status: 'ok', text: 'ok' });
    expect(of('ok', 'warn', 'crit')).toEqual({ status: 'crit', text: 'crit, 1 of 3' });
    expect(of('warn', 'unknown', 'warn')).toEqual({ status: 'warn', text: 'warn, 2 of 3' });
    expect(of('crit', 'crit')).toEqual({ status: 'crit', text: 'crit' });
  });

  test('however well its exit IPs were, a server that nobody serves is not ok', () => {
    const ips = [{ status: 'ok' as const }];
    expect(summaryOf({ nodes: { all: 0, live: 0 }, ips })).toEqual({
      status: 'no node yet',
      text: 'no node yet',
    });
    expect(summaryOf({ nodes: { all: 2, live: 0 }, ips }).status).toBe('not connected');
  });

  test('what is not known is not ok', () => {
    expect(of('ok', 'unknown').status).toBe('unknown');
    expect(of()).toEqual({ status: 'unknown', text: 'no exit IPs' });
  });
});

describe('shownRows', () => {
  test('the contract, the others and all of the network are told apart', () => {
    expect(shown({ view: 'contract' })).toEqual(['fra2', 'fra10', 'zrh1']);
    expect(shown({ view: 'others' })).toEqual(['syd1']);
    expect(shown({ view: 'all' })).toHaveLength(4);
  });

  test('names are in the order of their numbers, usage from the most', () => {
    expect(shown({ sort: 'name' })).toEqual(['fra2', 'fra10', 'zrh1']);
    expect(shown({ sort: 'period' })).toEqual(['fra2', 'fra10', 'zrh1']);
    expect(shown({ sort: 'month' })).toEqual(['fra10', 'fra2', 'zrh1']);
    expect(shown({ sort: 'month', view: 'all' }).at(-1)).toBe('syd1');
  });

  test('country, service and status filter together', () => {
    expect(shown({ country: 'DE' })).toEqual(['fra2', 'fra10']);
    expect(shown({ country: 'DE', service: 'proxy-https' })).toEqual(['fra10']);
    expect(shown({ status: 'crit' })).toEqual(['zrh1']);
    expect(shown({ status: 'crit', country: 'DE' })).toEqual([]);
    expect(shown({ view: 'all', status: 'unknown' })).toEqual([]);
    // The health of others is not told: a status hides none of them.
    expect(shown({ view: 'others', status: 'crit' })).toEqual(['syd1']);
    expect(isFiltering({ ...noFilters, view: 'others', status: 'crit' })).toBe(false);
  });

  test('the status tells servers apart that nobody serves, and sorts what works first', () => {
    const some = rowsOf(
      ['a', 'b', 'c', 'd', 'e'].map((name) => networkServer(name)),
      [
        ownServer('b', { nodes: { all: 0, live: 0 } }),
        ownServer('c', { nodes: { all: 1, live: 0 } }),
        ownServer('d'),
      ],
    );
    const names = (changes: Partial<typeof noFilters>) =>
      shownRows(some, { ...noFilters, ...changes }).map(({ name }) => name);
    expect(names({ status: 'ok' })).toEqual(['d']);
    expect(names({ status: 'no node yet' })).toEqual(['b']);
    expect(names({ view: 'all', sort: 'status' })).toEqual(['d', 'c', 'b', 'a', 'e']);
  });

  test('a status finds every server with such an exit IP, however well the others do', () => {
    const [ok] = ownServer('x').ips as [OwnServer['ips'][0]];
    const ips = (['crit', 'warn', 'ok'] as const).map((status) => ({ ...ok, status }));
    const some = rowsOf(
      [networkServer('a'), networkServer('b')],
      [ownServer('a', { ips }), ownServer('b')],
    );
    const names = (status: string) =>
      shownRows(some, { ...noFilters, status }).map(({ name }) => name);
    expect([names('crit'), names('warn'), names('ok')]).toEqual([['a'], ['a'], ['b']]);
    const geostatus = { 'db-ip': { ...Object.values(ok.geostatus)[0], status: 'crit' } };
    const seen = [ownServer('b', { ips: [{ ...ok, geostatus } as OwnServer['ips'][0]] })];
    const misplaced = shownRows(rowsOf([networkServer('b')], seen), {
      ...noFilters,
      status: 'misplaced',
    });
    expect(misplaced).toHaveLength(1);
  });

  test('every word of a search must be found: in name, place, country or exit IP', () => {
    expect(shown({ search: ' zürich ' })).toEqual(['zrh1']);
    expect(shown({ search: 'germany FRA2' })).toEqual(['fra2']);
    expect(shown({ search: '2001:db8::7' })).toEqual(['zrh1']);
    expect(shown({ search: 'germany zürich' })).toEqual([]);
  });

  test('what is chosen on the map counts beside the other filters', () => {
    expect(shown({ chosen: ['fra2', 'syd1'] })).toEqual(['fra2']);
    expect(shown({ chosen: ['fra2', 'syd1'], view: 'all' })).toEqual(['fra2', 'syd1']);
  });

  test('view and order are no filters', () => {
    expect(isFiltering({ ...noFilters, view: 'all', sort: 'month', search: ' ' })).toBe(false);
    expect(isFiltering({ ...noFilters, chosen: ['fra2'] })).toBe(true);
  });
});
