// The open connections: the nodes that are not included, the sums, and those that were ended.
import { expect, test } from 'vitest';
import { withoutEnded } from '../src/connections/ended.ts';
import type { OpenConnections } from '../src/connections/groups.ts';
import { missingText, totalText } from '../src/connections/words.ts';

test('nodes that are not included are named by reason, servers in their place for account holders', () => {
  const silent = Array.from({ length: 9 }, (_, at) => ({
    ...{ server: `s${at}`, node: `s${at}-a`, reason: 'no_answer' as const },
  }));
  const offline = { server: 'fra1', reason: 'offline' as const };
  expect(missingText([...silent, offline, offline])).toBe(
    'Not included: s0-a, s1-a, s2-a, s3-a, s4-a, s5-a, 3 others (no answer); a node of fra1 (offline).',
  );
  expect(missingText([])).toBe('');
});

test('the sums count connections and the bytes each way', () => {
  const sums = { groups: 1, connections: 1, up: 1.2e6, down: 310e6 };
  expect(totalText(sums)).toBe('1 connection, 310 MB down, 1.2 MB up.');
});

test('connections that were ended leave the rows, the sums and the total, and others stay', () => {
  const figures = { up: 1, down: 10, since: 1_798_761_600, last_byte_at: 1_798_761_600 };
  const group = (user: string, address: string, connections: number) => ({
    ...{ account: 'acme', user, address, server: 'fra1', service: 'proxy', connections },
    ...{ exit_ip: '198.51.100.7', credentials: ['token' as const], ...figures },
  });
  const alice = group('alice', '203.0.113.1', 2);
  const bob = group('bob', '203.0.113.1', 3);
  const rest = { groups: 1, connections: 1, up: 1, down: 10 };
  const total = { groups: 3, connections: 6, up: 3, down: 30 };
  const open: OpenConnections = { connections: [alice, bob], rest, total, missing: [] };
  const ofBob = { user: 'bob', address: '203.0.113.1', authlist_entry: 7 };
  expect(withoutEnded(open, { server: 'fra1' }, [{ ...ofBob, server: 'fra1' }])).toEqual({
    ...{ connections: [alice], rest, missing: [] },
    total: { groups: 2, connections: 3, up: 2, down: 20 },
  });
  expect(withoutEnded(open, {}, [{ ...ofBob, server: 'ams1' }, { user: 'carol' }])).toEqual(open);
  const none = { groups: 0, connections: 0, up: 0, down: 0 };
  const ofServer = withoutEnded(open, { server: 'fra1' }, [{ server: 'fra1' }]);
  expect(ofServer).toEqual({ connections: [], rest: none, total: none, missing: [] });
  const sums = [{ user: 'bob', groups: 1, connections: 3, ...figures }];
  const bySum = { ...open, connections: [], sums };
  expect(withoutEnded(bySum, { by: 'user' }, [{ user: 'bob' }]).sums).toEqual([]);
  // A part of a sum: nodes count again.
  expect(withoutEnded(bySum, { by: 'user' }, [ofBob])).toEqual(bySum);
});
