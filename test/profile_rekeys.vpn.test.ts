// New keys in the middle of a tunnel: real charons that say what each profile and each system says,
// and a node that says what it says. The first handshake of IKEv2 negotiates no group for ESP, so a
// client and a node that disagree on one part at their first new keys.
import { test } from 'vitest';
import { drawn } from './deep_test.ts';
import { ikev2, rekeyScene } from './rekey_scene.ts';

const { node, client, connect, expectTraffic, renewFrom } = rekeyScene();

test.each(drawn(ikev2))(
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
