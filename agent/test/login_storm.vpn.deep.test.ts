// Many clients of IKEv1 at the same moment, as after an outage of a network: charon uses a thread
// for each login that waits for RADIUS, and has 32.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { sharedKey } from '../../kit/src/vpn_password.ts';
import type { ViciMessage } from '../src/vpn/vici.ts';
import { contractRecord, userRecord } from './node_records.ts';
import { until } from './proxy_world.ts';
import { exits, hostname, passwordOf, vpnKey } from './vpn_scene.ts';
import { VpnWorld } from './vpn_world.ts';

const world = new VpnWorld();
const accounts = Array.from({ length: 60 }, (_, at) => at + 1);

beforeAll(async () => {
  await world.start(1);
  const records = accounts.flatMap((account) => [contractRecord(account), userRecord(account)]);
  await world.apply(...records);
  await world.serving();
});
afterAll(() => world.stop());

const vici = () => world.client(1).vici;

/** One charon stands for all clients; behind a NAT each would have a port. */
async function load(account: number): Promise<void> {
  const login = `alice@contract${account}`;
  const secret = { type: 'xauth', data: passwordOf(account), owners: [login] };
  await vici().command('load-shared', { id: login, ...secret });
  const connection: ViciMessage = {
    ...{ version: '1', remote_addrs: [exits[0]], vips: ['::', '0.0.0.0'], rekey_time: '1h' },
    proposals: ['aes256-sha256-ecp256'],
    local: { auth: 'psk', id: 'client' },
    'local-2': { auth: 'xauth', xauth_id: login },
    remote: { auth: 'psk', id: hostname },
    children: { [`net${account}`]: { remote_ts: [`10.77.${account}.0/24`] } },
  };
  await vici().command('load-conn', { [`vpn${account}`]: connection });
}

/** The number of each client's IKE SA, and its IPv4 address inside. */
async function established(): Promise<Map<string, { ike: string; address: string }>> {
  const sas = (await vici().list('list-sas', 'list-sa')).flatMap(
    (event) => Object.entries(event) as Array<[string, ViciMessage]>,
  );
  return new Map(
    sas.flatMap(([name, { state, uniqueid, 'local-vips': vips = [] }]) => {
      const address = (vips as string[]).find((vip) => vip.includes('.'));
      return state === 'ESTABLISHED' && address ? [[name, { ike: String(uniqueid), address }]] : [];
    }),
  );
}

test('sixty clients log in at the same moment, and again for new keys: each has a tunnel, and keeps its address', async () => {
  const shared = { type: 'ike', data: sharedKey(vpnKey), owners: [hostname] };
  await vici().command('load-shared', shared);
  for (const account of accounts) await load(account);
  for (const account of accounts) {
    await vici().command('initiate', { child: `net${account}`, timeout: '-1' });
  }
  await until(async () => (await established()).size === accounts.length);
  const before = await established();
  for (const { ike } of before.values()) await vici().command('rekey', { 'ike-id': ike });
  await until(async () => {
    const now = await established();
    return accounts.every((account) => {
      const name = `vpn${account}`;
      return now.has(name) && now.get(name)?.ike !== before.get(name)?.ike;
    });
  });
  const addresses = (from: typeof before) =>
    Array.from(from, ([name, { address }]) => [name, address]).sort();
  expect(addresses(await established())).toEqual(addresses(before));
});
