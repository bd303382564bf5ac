// The machine of a VPN: clients must not get addresses that it uses itself.
import { describe, expect, test } from 'vitest';
import type { Network } from '../../kit/src/address.ts';
import { parseNetworks } from '../../kit/src/address.ts';
import { findPoolConflict } from '../src/vpn/machine.ts';

describe('the addresses for clients', () => {
  // Each machine has 127.0.0.1/8.
  test.each(['127.0.0.0/28', '127.200.0.0/16', '126.0.0.0/7'])(
    '%s are refused: they overlap with a network of the machine',
    (pool) => {
      const [network] = parseNetworks(pool) as [Network];
      expect(findPoolConflict(network)?.sentence).toBe(
        `the addresses for clients, ${pool}, overlap with 127.0.0.1/8 of lo`,
      );
    },
  );

  test('that the machine does not use are accepted', () => {
    const [network] = parseNetworks('126.0.0.0/8') as [Network];
    expect(findPoolConflict(network)).toBeUndefined();
  });
});
