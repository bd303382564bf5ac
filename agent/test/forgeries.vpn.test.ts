// Forged packets from clients of the VPN, from neighbours of the node, and from the node itself, in
// network namespaces.
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { parseNetworks } from '../../kit/src/address.ts';
import { deepDescribe, deepTest } from '../../test/deep_test.ts';
import { forgettingLines, openingLines, vpnFirewallRules } from '../src/vpn/vpn_firewall.ts';
import { until } from './proxy_world.ts';
import {
  type Batch,
  Forgeries,
  fromClient,
  fromNeighbour,
  fromNode,
  gateway,
  inFlowsOf,
  type Tunnel,
} from './vpn_forgeries.ts';
import { exits, origin, passwordOf } from './vpn_scene.ts';
import { VpnWorld } from './vpn_world.ts';

const world = new VpnWorld();
const forgeries = new Forgeries(world);

const [pool] = parseNetworks('100.80.0.0/12');
const pool6 = 'fd65:7877:6172:64::/97';
/** For a node that also serves L2TP, and whose operator allows a network that includes the pool. */
const rulesOf = (ipsec: 'kernel' | 'userspace') =>
  vpnFirewallRules({
    ...{ pool: pool as never, pool6, ipsec, has_ppp: true, refused_ports: [25] },
    ...{ allowed: parseNetworks('100.64.0.0/10'), l2tp_exits: [...exits] },
  });

beforeAll(async () => {
  await world.start(2);
  await forgeries.start();
});
afterAll(() => world.stop());

// IPsec does not check packets from a cable, so only the rules stop them.
describe('with cables in place of tunnels', () => {
  const nft = (...commands: string[]) => world.run('node', 'nft', commands.join('; '));
  const cables = rulesOf('userspace')
    .replaceAll('ipsec0', 'to-client1')
    .replaceAll('ppp*', 'to-client2');
  const element = (set: string, text: string) => `element inet exitward_vpn ${set} { ${text} }`;
  const cableOf = (number: number, address: string, exit: string) => {
    const client = `client${number}`;
    const sender = { name: client, device: 'to-node' };
    return { client, address, exit, sender, port: 6000 + number };
  };
  const ike: Tunnel = { ...cableOf(1, '100.80.0.7', exits[0]), address6: 'fd65:7877:6172:64::7' };
  const ppp: Tunnel = cableOf(2, '100.88.0.7', exits[1]);
  const tunnels = [ike, ppp];
  const open = ({ address, exit }: Tunnel, zone: number) =>
    nft(openingLines({ address, zone, exit_ip: exit, note: '' }));
  const close = ({ address }: Tunnel, zone: number) =>
    nft(`delete ${element('open', address)}`, forgettingLines([{ address, zone }]));
  const setAddresses = (action: 'add' | 'del') => {
    world.ip('node', `address ${action} ${gateway}/32 dev lo`);
    for (const { client, address, address6 } of tunnels) {
      for (const prefix of [`${address}/32`, ...(address6 ? [`${address6}/128`] : [])]) {
        world.ip('node', `route ${action} ${prefix} dev to-${client}`);
        world.ip(client, `address ${action} ${prefix} dev to-node`);
      }
    }
  };

  beforeAll(async () => {
    await world.node.ask({ do: 'stop', leave_running: false });
    nft(cables);
    for (const [index, tunnel] of tunnels.entries()) open(tunnel, index + 1);
    setAddresses('add');
    // Only its client's address is routed to a link of PPP.
    world.ip('node', 'route del 198.18.2.2', 'route del fe80::/64 dev to-client2');
  });
  afterAll(async () => {
    world.ip('node', 'route add 198.18.2.2 dev to-client2');
    setAddresses('del');
    nft('delete table inet exitward_vpn');
    await world.startNode();
  });

  test.each(exits)(
    'L2TP at %s neither reaches a program of the node nor leaves it outside IPsec',
    async (exit) => {
      const nodeArrivals = arrivalsBetween('node', exit, origin);
      const neighbourArrivals = arrivalsBetween('beyond', origin, exit);
      // In this time many packets of the other port would have arrived.
      const isEnough = (ports: string[]) =>
        ports.includes('TCP') && ports.filter((port) => port === '1702').length > 5;
      await until(() => isEnough(nodeArrivals()) && isEnough(neighbourArrivals()));
      expect([...nodeArrivals(), ...neighbourArrivals()]).not.toContain('1701');
    },
  );

  test.each(exits)(
    'what comes out of IPsec for L2TP at %s reaches its port alone',
    async (exit) => {
      const door = 'iifname "to-client1"';
      const rules = rulesOf('kernel')
        .replaceAll('meta ipsec exists', door)
        .replaceAll('meta ipsec missing', door.replace(' ', ' != '))
        .replaceAll('rt ipsec missing', door.replace('iifname ', 'oifname != '));
      onTestFinished(() => void nft(cables));
      nft(rules);
      const arrivals = arrivalsBetween('node', exit, '198.18.1.2');
      const responses = arrivalsBetween('client1', '198.18.1.2', exit);
      const isEnough = (ports: string[]) => ports.filter((port) => port === '1701').length > 5;
      await until(() => isEnough(arrivals()) && isEnough(responses()));
      for (const other of ['1702', 'TCP']) expect(arrivals()).not.toContain(other);
    },
  );

  test('a client has nothing forwarded as somebody else, or to what it may not reach', async () => {
    const [sender, packets] = fromClient(ike, ppp);
    // Packets for the node itself depend on the sources that IPsec binds.
    const forwarded = packets.filter(([name]) =>
      / to (the Internet|mail|the metadata|a private|another client)/.test(name),
    );
    const batches: Batch[] = [[sender, forwarded], fromClient(ppp, ike)];
    expect(await forgeries.escapes(tunnels, ...batches)).toEqual([]);
  });

  deepTest(
    'neighbours and the node itself reach no client unasked, and send nothing as a client',
    async () => {
      const batches = [fromNeighbour(tunnels), fromNode(tunnels)];
      expect(await forgeries.escapes(tunnels, ...batches)).toEqual([]);
    },
  );

  deepTest('the node reaches itself at its own end of a link of PPP', async () => {
    const packet = { source: gateway, destination: gateway };
    const batch: Batch = [{ name: 'node' }, [['a packet to itself', packet]]];
    expect(await forgeries.escapes(tunnels, batch)).toEqual(['a packet to itself at node']);
  });

  test("a response goes through its client's own tunnel, or nowhere", async () => {
    expect(await forgeries.escapes(tunnels)).toEqual([]);
    for (const [tunnel, other] of [
      [ike, ppp],
      [ppp, ike],
    ] as const) {
      const [route, device] = [`route replace ${tunnel.address}`, `to-${other.client}`];
      const via = `198.18.${other.client.replace('client', '')}.2`;
      world.ip('node', `${route} via ${via} dev ${device} onlink`);
      expect(await forgeries.escapes([other], inFlowsOf(tunnel).down)).toEqual([]);
      world.ip('node', `${route} dev to-${tunnel.client}`);
    }
  });

  deepTest('once a session is closed, its flows end in both directions', async () => {
    expect(await forgeries.escapes(tunnels)).toEqual([]);
    const { up, down } = inFlowsOf(ike);
    nft(`delete ${element('open', ike.address)}`);
    expect(await forgeries.escapes([ppp], up, down)).toEqual([]);
    nft(`add ${element('open', ike.address)}`);
  });

  test('the next session of an address has none of the flows of the one before', async () => {
    for (const [index, former] of tunnels.entries()) {
      expect(await forgeries.escapes([former])).toEqual([]);
      close(former, index + 1);
      open(former, index + 3);
      const next = { ...former, port: former.port + 100 };
      expect(await forgeries.escapes([next], inFlowsOf(former).down)).toEqual([]);
    }
  });
});

/**
 * Sends from the port of L2TP and another one to the same ports of a peer, and connects to it;
 * returns the ports at which something arrived, and `TCP`.
 */
function arrivalsBetween(place: string, address: string, peer: string): () => string[] {
  const program = `
    for (const port of [1701, 1702]) {
      const socket = require('node:dgram').createSocket('udp4');
      socket.on('message', () => console.log(port));
      socket.bind(port, '${address}', () => setInterval(() => socket.send('?', port, '${peer}'), 50));
    }
    const net = require('node:net');
    net.createServer(() => console.log('TCP')).listen(1701, '${address}');
    setInterval(() => net.connect(1701, '${peer}').on('error', () => {}), 50);`;
  let output = '';
  const child = world.spawn(place, [process.execPath, '-e', program]);
  onTestFinished(() => void child.kill('SIGKILL'));
  child.stdout?.on('data', (bytes) => {
    output += bytes;
  });
  return () => output.split('\n');
}

deepDescribe('through tunnels', () => {
  let first: Tunnel;
  let second: Tunnel;

  beforeAll(async () => {
    await world.serving();
    first = await tunnelOf(1, exits[0]);
    second = await tunnelOf(2, exits[1]);
  });

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
});

async function tunnelOf(number: number, exit: string): Promise<Tunnel> {
  const name = `client${number}`;
  const client = world.client(number);
  const login = { login: `alice@contract${number}`, password: passwordOf(number) };
  await client.connect({ ...login, exit, ipv6: number === 1 });
  const [address = '', address6] = (await client.tunnels()).sort();
  const sender = { name, device: 'to-node', sealer: client.sealer() };
  return { client: name, address, address6, exit, sender, port: 5000 + number };
}

deepTest('the table of an older agent is replaced, and its sessions stay', () => {
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
  add element inet exitward_vpn down { 100.80.0.1 counter packets 0 bytes 0 }
  add element inet exitward_vpn open { 100.80.0.1 }
  add element inet exitward_vpn exit { 100.80.0.1 : ${exits[0]} }`;
  const nft = (text: string) => world.run('beyond', 'nft', text);
  nft(older);
  for (let times = 0; times < 2; times += 1) {
    nft(rulesOf('kernel'));
    const table = nft('list table inet exitward_vpn');
    expect(table).toContain('100.80.0.1 counter packets 3 bytes 456 comment "vpn-1"');
    expect(table).toContain(`100.80.0.1 : ${exits[0]}`);
    expect(table.match(/hook prerouting priority \w+/g)).toEqual(['hook prerouting priority raw']);
    expect(table).not.toContain('ip saddr 100.80.0.0/12 jump');
  }
  nft(forgettingLines([{ address: '100.80.0.1', zone: 0 }]));
});
