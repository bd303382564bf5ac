// Packets that are not what they say they are, from clients of the VPN, from neighbours of the node and from itself, in network namespaces.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parseNetworks } from '../src/address.ts';
import { vpnFirewallRules } from '../src/vpn/vpn_firewall.ts';
import { Forgeries, fromClient, fromNeighbour, fromNode, type Tunnel } from './vpn_forgeries.ts';
import { exits, passwordOf } from './vpn_scene.ts';
import { VpnWorld } from './vpn_world.ts';

const world = new VpnWorld();
const forgeries = new Forgeries(world);
let first: Tunnel;
let second: Tunnel;

beforeAll(async () => {
  await world.start(2);
  await forgeries.start();
  await world.restartNode();
  await world.serving();
  first = await tunnelOf(1, exits[0]);
  second = await tunnelOf(2, exits[1]);
});
afterAll(() => world.stop());

async function tunnelOf(number: number, exit: string): Promise<Tunnel> {
  const name = `client${number}`;
  const client = world.client(number);
  const login = { login: `alice@contract${number}`, password: passwordOf(number) };
  await client.connect({ ...login, exit, ipv6: number === 1 });
  const [address = '', address6] = (await client.tunnels()).sort();
  const sender = { name, device: 'to-node', sealer: client.sealer() };
  return { client: name, address, address6, exit, sender, port: 5000 + number };
}

test('a client sends nothing as somebody else, and nothing to what it may not reach', async () => {
  const batches = [fromClient(first, second), fromClient(second, first)];
  expect(await forgeries.escapes([first, second], ...batches)).toEqual([]);
});

test('a neighbour reaches no tunnel unasked, and sends nothing as its client', async () => {
  const tunnels = [first, second];
  expect(await forgeries.escapes(tunnels, fromNeighbour(tunnels))).toEqual([]);
});

test('the node itself sends nothing into a tunnel', async () => {
  const tunnels = [first, second];
  expect(await forgeries.escapes(tunnels, fromNode(tunnels))).toEqual([]);
});

test('the table of an older agent is replaced, and its sessions stay', () => {
  const older = `table inet exitward_vpn {
    set up { type ipv4_addr; flags dynamic; counter; }
    set down { type ipv4_addr; flags dynamic; counter; }
    set open { type ipv4_addr; }
    set ppp { type ipv4_addr; }
    map exit { type ipv4_addr : ipv4_addr; }
    chain prerouting { type filter hook prerouting priority 0; policy accept; }
    chain from_client { }
    chain forward {
      type filter hook forward priority 0; policy accept;
      ip saddr 100.80.0.0/12 jump from_client
    }
  }
  add element inet exitward_vpn up { 100.80.0.1 counter packets 3 bytes 456 comment "vpn-1" }
  add element inet exitward_vpn open { 100.80.0.1 }
  add element inet exitward_vpn exit { 100.80.0.1 : ${exits[0]} }`;
  const [pool] = parseNetworks('100.80.0.0/12');
  const rules = vpnFirewallRules({
    ...{ pool: pool as never, pool6: 'fd65::/97', ipsec: 'kernel', has_ppp: true },
    ...{ allowed: [], refused_ports: [25], l2tp_exits: [...exits] },
  });
  const nft = (text: string) => world.run('beyond', 'nft', text);
  nft(older);
  for (let times = 0; times < 2; times += 1) {
    nft(rules);
    const table = nft('list table inet exitward_vpn');
    expect(table).toContain('100.80.0.1 counter packets 3 bytes 456 comment "vpn-1"');
    expect(table).toContain(`100.80.0.1 : ${exits[0]}`);
    expect(table.match(/hook prerouting priority \w+/g)).toEqual(['hook prerouting priority raw']);
    expect(table).not.toContain('ip saddr 100.80.0.0/12 jump');
  }
});
