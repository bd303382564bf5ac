// New keys in the middle of a tunnel: real charons that say what each profile and each system says, and a node that says what it says. The first
// handshake of IKEv2 negotiates no group for ESP, so a client and a node that disagree on one part at their first new keys.
import { join } from 'node:path';
import pino from 'pino';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { ServerValue } from '../agent/src/policy/records.ts';
import { connectionsOf } from '../agent/src/vpn/connections.ts';
import { Vici, type ViciMessage } from '../agent/src/vpn/vici.ts';
import { until } from '../agent/test/proxy_world.ts';
import { type KeyPart, type Keys, keysAt, renew } from '../agent/test/vpn_keys.ts';
import { exits, hostname, passwordOf, vpnServer, type Words } from '../agent/test/vpn_scene.ts';
import { VpnWorld } from '../agent/test/vpn_world.ts';
import { profileFiles } from '../server/src/vpn_profiles/files.ts';
import { builtIn, type Speaker, wordsOf } from './vpn_words.ts';

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
    const name = `the profile for ${format}`;
    return { name, service: 'vpn-ikev2' as const, ...wordsOf[format](content) };
  }),
  // L2TP needs the kernel's IPsec: test/vm.
  ...builtIn.filter(({ service }) => service !== 'vpn-l2tp'),
];
const services = ['vpn-ikev2', 'vpn-ikev1'] as const;
const isOld = ({ service }: Speaker) => service === 'vpn-ikev1';
const ikev2 = speakers.filter((speaker) => !isOld(speaker));

const world = new VpnWorld();
const node = new Vici(join(world.dir, 'node', 'vpn', 'charon.vici'), pino({ level: 'silent' }));
const client = (number: number) => world.client(number);
const addressOf = (number: number) => `198.18.${number}.2`;

beforeAll(async () => {
  await world.start(speakers.length);
  await world.serving();
});
afterEach(() => Promise.all(speakers.map((_, at) => client(at + 1).disconnect())));
afterAll(async () => {
  node.close();
  await world.stop();
});

const connect = (number: number, { service, ...words }: Speaker) =>
  client(number).connect({ service: service as (typeof services)[number], words });

function expectTraffic(number: number): void {
  expect(client(number).fetch({ down: 1000 })).toEqual({ from: exits[0], down: 1000 });
}

/** The keys of a client's tunnel, once both sides have the same. */
async function keysOf(number: number): Promise<Keys | undefined> {
  const there = await keysAt(node, addressOf(number));
  const here = await keysAt(client(number).vici);
  return JSON.stringify(there) === JSON.stringify(here) ? there : undefined;
}

/** Waits for a tunnel with other keys than these. */
async function otherKeys(number: number, before: Keys | undefined, part: KeyPart): Promise<void> {
  await until(async () => {
    const after = await keysOf(number);
    return after !== undefined && after[part] !== before?.[part];
  });
}

async function renewFrom(side: Vici, part: KeyPart): Promise<void> {
  const before = await keysOf(1);
  await renew(side, part, side === node ? addressOf(1) : undefined);
  await otherKeys(1, before, part);
  expectTraffic(1);
}

test.each(ikev2)(
  '$name: the client and the node begin new keys of ESP and of IKE in turns, and traffic goes on',
  async (speaker) => {
    await connect(1, speaker);
    expectTraffic(1);
    for (const side of [client(1).vici, node, client(1).vici, node]) {
      await renewFrom(side, 'esp');
      await renewFrom(side, 'ike');
    }
  },
);

test.each(speakers.filter(isOld))(
  '$name: the client begins new keys of ESP and of IKE in turns, keeps its address, and traffic goes on',
  async (speaker) => {
    const { address } = await connect(1, speaker);
    expectTraffic(1);
    for (const part of ['esp', 'ike', 'esp', 'ike'] as const) {
      await renewFrom(client(1).vici, part);
    }
    expect(await client(1).tunnels()).toEqual([address]);
  },
);

/** Has the node begin new keys so soon, where it begins any; the old ones hold long after. None: as it is to. */
async function setLifetimes(seconds?: Record<KeyPart, number>): Promise<void> {
  const { value } = vpnServer() as { value: ServerValue };
  const connections = connectionsOf(value, services, exits, [world.certificate], false);
  for (const [name, connection] of connections) {
    if (seconds && connection.rekey_time !== '0') {
      const { net } = connection.children as { net: ViciMessage };
      Object.assign(connection, {
        rekey_time: `${seconds.ike}s`,
        over_time: '1h',
        rand_time: '0s',
      });
      Object.assign(net, { rekey_time: `${seconds.esp}s`, life_time: '2h', rand_time: '0s' });
    }
    await node.command('load-conn', { [name]: connection });
  }
}

const soon = { ike: 5, esp: 3 };

test.each<[string, (speaker: Speaker) => Words, typeof soon | undefined, Speaker[]]>([
  [
    'the clients',
    (speaker) => ({ ...speaker, renewed_after: isOld(speaker) ? { ...soon, ike: 3600 } : soon }),
    undefined,
    speakers,
  ],
  ['the node', (speaker) => speaker, soon, ikev2],
])(
  '%s, all at once: keys that run out are replaced three times, and traffic goes on',
  async (_, wordsFor, atNode, all) => {
    await setLifetimes(atNode);
    try {
      for (const [at, speaker] of all.entries()) {
        await connect(at + 1, { ...speaker, ...wordsFor(speaker) });
      }
      const seen = all.map(() => ({ ike: new Set<string>(), esp: new Set<string>() }));
      await until(async () => {
        for (const [at, { ike, esp }] of seen.entries()) {
          const keys = await keysOf(at + 1);
          if (keys) {
            ike.add(keys.ike);
            esp.add(keys.esp);
          }
          expectTraffic(at + 1);
        }
        return seen.every(
          ({ ike, esp }, at) => esp.size > 3 && (ike.size > 3 || isOld(all[at] as Speaker)),
        );
      });
    } finally {
      await setLifetimes();
    }
  },
);
