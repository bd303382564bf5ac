// New keys of IKEv1, for each of which the client waits long; and keys that run out by themselves.
import { expect, test } from 'vitest';
import { connectionsOf } from '../agent/src/vpn/connections.ts';
import type { ViciMessage } from '../agent/src/vpn/vici.ts';
import { until } from '../agent/test/proxy_world.ts';
import type { KeyPart } from '../agent/test/vpn_keys.ts';
import { exits, vpnServer, type Words } from '../agent/test/vpn_scene.ts';
import { certificatesOf } from '../kit/src/certificate.ts';
import type { ServerValue } from '../kit/src/node_interface.ts';
import { ikev2, isOld, rekeyScene, services, speakers } from './rekey_scene.ts';
import type { Speaker } from './vpn_words.ts';

const { world, node, client, connect, expectTraffic, keysOf, renewFrom } = rekeyScene();

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

/**
 * Has the node begin new keys so soon, where it begins any; the old ones hold long after. None: as
 * it is to.
 */
async function setLifetimes(seconds?: Record<KeyPart, number>): Promise<void> {
  const { value } = vpnServer() as { value: ServerValue };
  const connections = connectionsOf(value, services, exits, {
    certificates: certificatesOf(world.certificate),
    ...{ hasIpv6: false, isOnlyAddress: () => false },
  });
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
