// The nodes that the dialogs of a node count.
import { expect, test } from 'vitest';
import { othersOfServer } from '../src/operator/states.ts';

test('the others of a node are the nodes of the same server, without itself', () => {
  const of = (id: number, server: string) => ({ id, server });
  const all = [of(1, 'fra1'), of(2, 'ams1'), of(3, 'fra1'), of(4, 'lon1')];
  expect(othersOfServer(of(1, 'fra1'), all)).toEqual([of(3, 'fra1')]);
  expect(othersOfServer(of(2, 'ams1'), all)).toEqual([]);
});
