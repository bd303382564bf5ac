// Real charons for new keys in the middle of a tunnel: a client for each profile and each system,
// which says what that says, and a node.
import { join } from 'node:path';
import pino from 'pino';
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import { Vici } from '../agent/src/vpn/vici.ts';
import { until } from '../agent/test/proxy_world.ts';
import { type KeyPart, type Keys, keysAt, renew } from '../agent/test/vpn_keys.ts';
import { exits, hostname, passwordOf } from '../agent/test/vpn_scene.ts';
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
export const speakers: Speaker[] = [
  ...files.map(({ format, content }) => {
    const name = `the profile for ${format}`;
    return { name, service: 'vpn-ikev2' as const, ...wordsOf[format](content) };
  }),
  // L2TP needs the kernel's IPsec: test/vm.
  ...builtIn.filter(({ service }) => service !== 'vpn-l2tp'),
];
export const services = ['vpn-ikev2', 'vpn-ikev1'] as const;
export const isOld = ({ service }: Speaker) => service === 'vpn-ikev1';
export const ikev2 = speakers.filter((speaker) => !isOld(speaker));

/** The world of a file of tests, from its first test to its last; tunnels end with each. */
export function rekeyScene() {
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

  return { world, node, client, connect, expectTraffic, keysOf, renewFrom };
}
