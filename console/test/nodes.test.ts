// What the dialogs of a node say of its server.
import { expect, test } from 'vitest';
import { othersOfServer } from '../src/operator/states.ts';

test('what is left of a server without a node is its other nodes, whatever else the network has', () => {
  const of = (id: number, server: string) => ({ id, server });
  const all = [of(1, 'fra1'), of(2, 'ams1'), of(3, 'fra1'), of(4, 'lon1')];
  expect(othersOfServer(of(1, 'fra1'), all)).toEqual([of(3, 'fra1')]);
  expect(othersOfServer(of(2, 'ams1'), all)).toEqual([]);
});
