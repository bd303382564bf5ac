// The tunnels in charon's list, which may be read while new keys move one of them.
import { expect, test } from 'vitest';
import { Serving, type ServingOptions } from '../src/vpn/serving.ts';
import type { ViciMessage } from '../src/vpn/vici.ts';

/** A charon with these lists, one for each reading. */
function servingOf(...lists: string[][]) {
  const state = { readings: 0 };
  const list = async (): Promise<ViciMessage[]> => {
    const addresses = lists[Math.min(state.readings, lists.length - 1)] ?? [];
    state.readings += 1;
    return addresses.map((ip) => ({
      'vpn-ikev2 192.0.2.1': { uniqueid: ip, 'remote-vips': [ip] },
    }));
  };
  const options = { charon: { list }, l2tp: { links: () => [] } };
  const serving = new Serving(options as unknown as ServingOptions);
  return Object.assign(state, { serving });
}

test('a tunnel that one reading of the list misses is found by the next', async () => {
  const made = servingOf(['100.80.0.2'], ['100.80.0.1', '100.80.0.2']);
  const tunnels = await made.serving.tunnels(['100.80.0.1', '100.80.0.2']);
  expect([...tunnels.keys()].sort()).toEqual(['100.80.0.1', '100.80.0.2']);
});

test('one that is gone is looked for once more, and the list is read once while none is', async () => {
  const gone = servingOf(['100.80.0.2']);
  expect([...(await gone.serving.tunnels(['100.80.0.1'])).keys()]).toEqual(['100.80.0.2']);
  expect(gone.readings).toBe(2);
  const whole = servingOf(['100.80.0.1', '100.80.0.2']);
  await whole.serving.tunnels(['100.80.0.1']);
  expect(whole.readings).toBe(1);
});
