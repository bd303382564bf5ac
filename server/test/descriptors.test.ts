// How many connections a server carries whose operator has not set it.
import { expect, it } from 'vitest';
import { usualConnections } from '../src/bounds/descriptors.ts';

const GiB = 1024 ** 3;

it.each([
  ['a machine with little memory has 4,096', 65_536, 0.5 * GiB, 4096],
  ['more memory carries more, so that nodes by the thousand find a place', 65_536, 4 * GiB, 16_384],
  ['never more than the descriptors allow', 1024, 64 * GiB, 896],
  ['of many descriptors and much memory, 65,536 descriptors are used', 1_048_576, 64 * GiB, 65_408],
])('%s', (_, descriptors, memoryBytes, connections) => {
  expect(usualConnections(descriptors, memoryBytes)).toBe(connections);
});
