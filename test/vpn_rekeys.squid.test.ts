// New keys in the middle of a tunnel: real charons that say what each profile and each system says, and a node that says what it says. The first
// handshake negotiates no group for ESP, so a client and a node that disagree on one part at their first new keys.
import { join } from 'node:path';
import pino from 'pino';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { Vici } from '../agent/src/vpn/vici.ts';
import { until } from '../agent/test/proxy_world.ts';
import { type KeyPart, keysAt, renew } from '../agent/test/vpn_keys.ts';
import { exits, hostname, passwordOf } from '../agent/test/vpn_scene.ts';
import { VpnWorld } from '../agent/test/vpn_world.ts';
import { profileFiles } from '../server/src/vpn_profiles/files.ts';
import { builtIn, type Speaker, wordsOf } from './vpn_words.ts';

const world = new VpnWorld();
const node = new Vici(join(world.dir, 'node', 'vpn', 'charon.vici'), pino({ level: 'silent' }));
const client = world.client.bind(world);
const peer = '198.18.1.2';

beforeAll(async () => {
  await world.start(1);
  await world.serving();
}, 60_000);
afterEach(() => client(1).disconnect());
afterAll(async () => {
  node.close();
  await world.stop();
});

const files = profileFiles('alice@contract1', [
  {
    server: 'fra1',
    services: ['vpn-ikev2'],
    hostname,
    exit_ip: exits[0],
    exit_ips: [...exits],
    password: passwordOf(1),
    shared_key: null,
  },
]);
const speakers: Speaker[] = [
  ...files.map(({ format, content }) => {
    return { name: `the profile for ${format}`, service: 'vpn-ikev2' as const, ...wordsOf[format](content) };
  }),
  ...builtIn.filter(({ service }) => service !== 'vpn-l2tp'),
];
const isOld = ({ service }: Speaker) => service === 'vpn-ikev1';

/** What both sides hold, once they hold the same. */
async function keys() {
  const [there, here] = [await keysAt(node, peer), await keysAt(client(1).vici)];
  return there && JSON.stringify(there) === JSON.stringify(here) ? there : undefined;
}

async function renewFrom(side: Vici, part: KeyPart, who?: string): Promise<void> {
  const before = await keys();
  expect(before).toBeDefined();
  await renew(side, part, who);
  await until(async () => {
    const after = await keys();
    return after !== undefined && after[part] !== before?.[part];
  });
  expect(client(1).fetch({ down: 1000 })).toEqual({ from: exits[0], down: 1000 });
}

test.each(speakers)(
  '$name: the client and the node each begin new keys twice, and traffic goes on',
  async (speaker) => {
    const { service, ...words } = speaker;
    await client(1).connect({ service: isOld(speaker) ? 'vpn-ikev1' : 'vpn-ikev2', words });
    expect(client(1).fetch({ down: 1000 })).toEqual({ from: exits[0], down: 1000 });
    for (let round = 0; round < 2; round += 1) {
      await renewFrom(client(1).vici, 'esp');
      await renewFrom(node, 'esp', peer);
      await renewFrom(client(1).vici, 'ike');
      // In IKEv1 it is a login again, which is the client's to begin.
      if (!isOld(speaker)) await renewFrom(node, 'ike', peer);
    }
  },
);
