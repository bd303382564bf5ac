// The open connections in words: the nodes that are not included, and the sums.
import { expect, test } from 'vitest';
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
