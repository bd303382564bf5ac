// The open connections of a node in groups, by user, address, exit and credential; and the number
// of groups that are shown.
import { expect, test } from 'vitest';
import { groupConnections, largestGroups, maxGroups } from '../src/connection_groups.ts';
import type { OpenConnection } from '../src/engine.ts';

const listed = { by: 'authlist', account: 1, user: 2, entry: 9, ip: '192.0.2.1' } as const;
const claims = { account: 1, user: 2, token_version: 1, expiry: 2_000_000_000 };
const token = { by: 'token', kid: 'k1', ...claims } as const;

const ipv6Exit = '2001:db8:eeee:eeee:eeee:eeee:eeee:eeee';

const open = (change: Partial<OpenConnection> = {}): OpenConnection => ({
  ...{ service: 'proxy', authority: listed, address: '192.0.2.1', exit_ip: '198.51.100.1' },
  ...{ since: 100, last_byte_at: 200, up: 10, down: 1000 },
  ...change,
});

test('connections of one user, address, exit and service are one group, with their sums and all credentials', async () => {
  const groups = await groupConnections([
    open(),
    open({ authority: token, since: 90, up: 1 }),
    open({ last_byte_at: 300, down: 5 }),
  ]);
  expect(groups).toEqual([
    {
      ...{ service: 'proxy', account: 1, user: 2, address: '192.0.2.1', exit_ip: '198.51.100.1' },
      ...{ by: ['authlist', 'token'], entry: 9, connections: 3, since: 90, last_byte_at: 300 },
      ...{ up: 21, down: 2005 },
    },
  ]);
});

test('another service, account, user, address or exit is another group', async () => {
  const others: Array<Partial<OpenConnection>> = [
    { service: 'proxy-https' },
    { authority: { ...listed, account: 2 } },
    { authority: { ...listed, user: 3 } },
    { address: '2001:db8::1' },
    { exit_ip: '2001:db8::e' },
  ];
  const groups = await groupConnections([open(), ...others.map(open), open()]);
  expect(groups.map(({ connections }) => connections)).toEqual([2, 1, 1, 1, 1, 1]);
  const bySource = largestGroups(groups, { address: '2001:db8::1', account: 1 });
  expect(bySource.groups).toEqual([groups[4]]);
  expect(largestGroups(groups, { exit_ip: '198.51.100.9' }).groups).toEqual([]);
});

test('of 20,000 connections in 2,000 groups the 1,000 largest are named, and the others summed', async () => {
  function* all() {
    for (let at = 0; at < 20_000; at += 1) {
      // The first groups get more than the others.
      const group = at < 2000 ? at : at % 1500;
      yield open({ address: `10.0.${group >> 8}.${group & 255}` });
    }
  }
  const groups = await groupConnections(all());
  const { groups: largest, rest } = largestGroups(groups, {});
  expect(groups).toHaveLength(2000);
  expect(largest).toHaveLength(maxGroups);
  const named = largest.reduce((sum, { connections }) => sum + connections, 0);
  expect(rest).toEqual({
    ...{ groups: 1000, connections: 20_000 - named },
    ...{ up: 10 * (20_000 - named), down: 1000 * (20_000 - named) },
  });
  const smallest = Math.min(...largest.map(({ connections }) => connections));
  const isNamed = new Set(largest);
  const unnamed = groups.filter((group) => !isNamed.has(group));
  expect(unnamed.every(({ connections }) => connections <= smallest)).toBe(true);
});

test('100,000 connections in 10,000 groups are looked at 2,000 in a turn, and answered in what the control plane accepts', async () => {
  let turns = 0;
  const longestTurns: number[] = [0];
  // The longest values that a connection can have.
  const names = { account: 2 ** 40, user: 2 ** 40, entry: 2 ** 40, ip: '192.0.2.1' };
  function* all() {
    for (let at = 0; at < 100_000; at += 1) {
      longestTurns[turns] = (longestTurns[turns] ?? 0) + 1;
      const group = (at % 10_000).toString(16).padStart(4, '0');
      const authority = {
        by: (['authlist', 'token', 'vpn'] as const)[((at / 1e4) % 3) | 0],
        ...names,
      };
      yield open({
        ...{ service: `vpn-${'x'.repeat(28)}`, authority: authority as typeof listed },
        ...{ address: `2001:db8:ffff:ffff:ffff:ffff:ffff:${group}`, exit_ip: ipv6Exit },
        ...{ since: 4e9, last_byte_at: 4e9, up: 1e14, down: 1e14 },
      });
    }
  }
  let isGrouping = true;
  const next = () => {
    turns += 1;
    if (isGrouping) setImmediate(next);
  };
  setImmediate(next);
  const groups = await groupConnections(all());
  isGrouping = false;
  expect(groups).toHaveLength(10_000);
  expect(Math.max(...longestTurns.filter(Boolean))).toBeLessThanOrEqual(2000);
  const answer = largestGroups(groups, {});
  expect(answer.rest).toMatchObject({ groups: 9000, connections: 90_000 });
  expect(JSON.stringify({ watch: 2 ** 40, ...answer }).length).toBeLessThan(512 * 1024);
});

test('connections that open and close while they are read do no harm', async () => {
  const live = new Map(Array.from({ length: 5000 }, (_, at) => [at, open()]));
  const grouping = groupConnections(live.values());
  for (let at = 0; at < 4000; at += 1) live.delete(at);
  live.set(6000, open());
  const [group] = await grouping;
  expect(group?.connections).toBe(2000 + 1000 + 1);
});
