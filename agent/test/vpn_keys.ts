// The keys of tunnels at the charon of one side, by VICI: their names, which differ after each
// renewal, and their renewal.
import type { Vici, ViciMessage } from '../src/vpn/vici.ts';

/** The keys of IKE itself, and of its ESP. */
export type KeyPart = 'ike' | 'esp';

/** SPIs, the initiator's first; those of ESP in an order that both sides share. */
export type Keys = Record<KeyPart, string>;

interface Established {
  keys: Keys;
  id: Record<KeyPart, string>;
}

/** The keys of the one tunnel with a peer. Undefined: there is none, or one is being replaced. */
export async function keysAt(vici: Vici, peer?: string): Promise<Keys | undefined> {
  return (await established(vici, peer))?.keys;
}

/** Makes this side begin new keys, which take a while. Errors: charon's, or there is no tunnel. */
export async function renew(vici: Vici, part: KeyPart, peer?: string): Promise<void> {
  const tunnel = await established(vici, peer);
  if (!tunnel) throw new Error('there is no tunnel');
  const how = { ike: { 'ike-id': tunnel.id.ike }, esp: { 'child-id': tunnel.id.esp } };
  await vici.command('rekey', how[part]);
}

async function established(vici: Vici, peer?: string): Promise<Established | undefined> {
  const events = await vici.list('list-sas', 'list-sa');
  const all = events
    .flatMap((event) => Object.values(event) as ViciMessage[])
    .filter(
      (sa) => sa.state === 'ESTABLISHED' && (peer ?? sa['remote-host']) === sa['remote-host'],
    );
  const children = all.flatMap(
    (sa) => Object.values(sa['child-sas'] as ViciMessage) as ViciMessage[],
  );
  const installed = children.filter((child) => child.state === 'INSTALLED');
  const [[sa], [child]] = [all, installed];
  if (!sa || !child || all.length > 1 || installed.length > 1) return undefined;
  return {
    keys: {
      ike: `${sa['initiator-spi']} ${sa['responder-spi']}`,
      esp: [child['spi-in'], child['spi-out']].sort().join(' '),
    },
    id: { ike: String(sa.uniqueid), esp: String(child.uniqueid) },
  };
}
