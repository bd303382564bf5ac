// The state of a node in words, and the nodes that its dialogs count.
import { describe, expect, test } from 'vitest';
import { type Node, nodeState, othersOfServer } from '../src/operator/states.ts';

test('the others of a node are the nodes of the same server, without itself', () => {
  const of = (id: number, server: string) => ({ id, server });
  const all = [of(1, 'fra1'), of(2, 'ams1'), of(3, 'fra1'), of(4, 'lon1')];
  expect(othersOfServer(of(1, 'fra1'), all)).toEqual([of(3, 'fra1')]);
  expect(othersOfServer(of(2, 'ams1'), all)).toEqual([]);
});

describe('a node with problems is not shown as well', () => {
  const fault = { kind: 'config', subject: null, message: 'Squid is gone.', since: 1 };
  const node = { live: true, lag: 0, drained_at: null, connections: 3, is_behind: false };
  test.each([
    [0, {}, 'good', 'online'],
    [1, {}, 'warn', 'online, 1 problem'],
    [2, {}, 'warn', 'online, 2 problems'],
    [2, { lag: 4 }, 'warn', 'lagging, 2 problems'],
    [1, { drained_at: 1 }, 'warn', 'drained, 3 open, 1 problem'],
    // Its problems are as old as its last report.
    [2, { live: false }, 'bad', 'offline'],
  ])('%i problems and %j: %s, %s', (problems, differences, tone, text) => {
    const faults = Array.from({ length: problems }, () => fault) as Node['faults'];
    expect(nodeState({ ...node, ...differences, faults })).toEqual({ tone, text });
  });
});
