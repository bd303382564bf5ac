// The forged packets that a node has to stop: each source that is not the sender's, to each kind of
// destination.
import { systemClock } from '../src/clock.ts';
import { isIpv6, type Packet, type Sender, Witnesses } from './forged_packets.ts';
import { exits, origin, privateIp } from './vpn_scene.ts';
import type { VpnWorld } from './vpn_world.ts';

const metadata = '169.254.169.254';
/** The IPv6 addresses of the origin and the node, if they have IPv6. */
const [origin6, node6] = ['2001:470::1', '2001:470:1::1'];
export const gateway = '100.88.0.0';
/** On the way to the Internet. */
const router = '9.9.9.1';

/**
 * A tunnel: its client's namespace, its address inside, the exit from which it leaves, and how
 * packets get into it.
 */
export interface Tunnel {
  client: string;
  address: string;
  address6?: string | undefined;
  exit: string;
  sender: Sender;
  /** The port of the flow that the client opens itself. */
  port: number;
}

/** The sources that a client may forge. */
function forgedSources(client: string, other: Tunnel): Record<string, string> {
  return {
    "another client's address": other.address,
    'an address of IKE that is free': '100.81.2.3',
    'an address of PPP that is free': '100.88.0.200',
    'the other end of PPP': gateway,
    'its exit': exits[0],
    'another exit': exits[1],
    'its own address outside': `198.18.${client.replace('client', '')}.2`,
    'an address of the node': `198.18.${client.replace('client', '')}.1`,
    'a private address': privateIp,
    'a link-local address': metadata,
    'a loopback address': '127.0.0.1',
    'no address': '0.0.0.0',
    'a multicast address': '224.0.0.5',
    'the address of all': '255.255.255.255',
    'a resolver': origin,
    'an address on the Internet': '8.8.8.8',
    ...(other.address6 ? { "another client's IPv6 address": other.address6 } : {}),
    'a private IPv6 address': 'fd65::9999',
    'a link-local IPv6 address': 'fe80::9',
    'no IPv6 address': '::',
    'an IPv6 address on the Internet': '2001:470:9::9',
    'an IPv6 address of the node': node6,
  };
}

type Destination = Pick<Packet, 'destination' | 'kind' | 'port'>;

function destinations(other: Tunnel): Record<string, Destination> {
  return {
    'the Internet': { destination: origin },
    'the Internet by TCP': { destination: origin, kind: 'syn' },
    'the Internet by ICMP': { destination: origin, kind: 'echo' },
    'the Internet by a broken packet': { destination: origin, kind: 'broken' },
    'mail on the Internet': { destination: origin, kind: 'syn', port: 25 },
    'a private address': { destination: privateIp },
    'the metadata service': { destination: metadata },
    'the exit': { destination: exits[0] },
    'another exit': { destination: exits[1] },
    'the other end of PPP': { destination: gateway },
    'another client': { destination: other.address },
    'another client, as one that it asked': { destination: other.address, port: other.port },
    'all on the link': { destination: '255.255.255.255' },
    'all by multicast': { destination: '224.0.0.1' },
    'the Internet by IPv6': { destination: origin6 },
    'the node by IPv6': { destination: node6 },
    'all by IPv6': { destination: 'ff02::1' },
    ...(other.address6 ? { "another client's IPv6": { destination: other.address6 } } : {}),
  };
}

/** Packets of an honest client to forbidden destinations. */
const isRefused = (name: string) => !/^the Internet( by (TCP|ICMP))?$/.test(name);

function* combine(
  sources: Record<string, string>,
  targets: Record<string, Destination>,
): Generator<[string, Packet]> {
  for (const [from, source] of Object.entries(sources)) {
    for (const [to, target] of Object.entries(targets)) {
      if (isIpv6(source) === isIpv6(target.destination)) {
        yield [`${from} to ${to}`, { source, ...target }];
      }
    }
  }
}

/** Packets with their names, all from one sender. */
export type Batch = [sender: Sender, packets: Array<[name: string, packet: Packet]>];

/** Everything that a client may not send. */
export function fromClient(own: Tunnel, other: Tunnel): Batch {
  const targets = destinations(other);
  const refusedTargets = Object.fromEntries(
    Object.entries(targets).filter(([name]) => isRefused(name)),
  );
  return [
    own.sender,
    [
      ...combine({ 'its own address': own.address }, refusedTargets),
      ...combine(own.address6 ? { 'its own IPv6 address': own.address6 } : {}, targets),
      ...combine(forgedSources(own.client, other), targets),
    ],
  ];
}

/** Everything that a neighbour may not send: unrequested into tunnels, or as their clients. */
export function fromNeighbour(tunnels: readonly Tunnel[]): Batch {
  const packets = tunnels.flatMap((tunnel) => {
    const { client, address, address6 } = tunnel;
    const targets = { ...intoTunnel(tunnel), ...elsewhere };
    return [
      ...combine(neighbours, intoTunnel(tunnel)),
      ...combine({ [`the address of ${client}`]: address }, targets),
      ...combine(address6 ? { [`the IPv6 address of ${client}`]: address6 } : {}, targets),
    ];
  });
  return [neighbour, packets];
}

/** Everything that the node's machine itself may not send into tunnels. */
export function fromNode(tunnels: readonly Tunnel[]): Batch {
  const sources = { 'an exit': exits[0], 'the other end of PPP': gateway, 'its IPv6': node6 };
  const packets = tunnels.flatMap((tunnel) => [...combine(sources, intoTunnel(tunnel))]);
  return [{ name: 'node' }, packets];
}

const toItself: Packet = { source: '127.0.0.1', destination: '127.0.0.1' };
const neighbour: Sender = { name: 'beyond', device: 'to-node' };

const neighbours = {
  'a neighbour': '198.18.9.9',
  'a private address': privateIp,
  'an exit': exits[0],
  'a resolver': origin,
  'an IPv6 neighbour': origin6,
};

/** The address outside of a client, which the node would forward to, and the node. */
const elsewhere: Record<string, Destination> = {
  'another neighbour': { destination: '198.18.1.2' },
  'the node': { destination: exits[0] },
  'the node by IPv6': { destination: node6 },
};

function intoTunnel({ client, address, address6, port }: Tunnel): Record<string, Destination> {
  const targets: Record<string, Destination> = {
    [`${client}, as one that it asked`]: { destination: address, port },
  };
  for (const kind of ['udp', 'syn', 'echo'] as const) {
    targets[`${client} by ${kind}`] = { destination: address, kind };
    if (address6) targets[`${client} by ${kind} of IPv6`] = { destination: address6, kind };
  }
  return targets;
}

/**
 * Packets of flows that a client opens itself: requests, responses, and the error of a router.
 */
function flowOf({ address, exit, port }: Tunnel) {
  const there: Packet = { source: address, destination: origin, port };
  const back: Packet = { source: origin, destination: exit, port };
  const outside = { source: exit, destination: origin, port };
  const up: Packet[] = [there, { ...there, kind: 'syn' }, { ...there, kind: 'echo' }];
  const down: Packet[] = [
    back,
    { ...back, kind: 'echo reply' },
    { source: router, destination: exit, too_big: outside },
  ];
  return { up, down };
}

/** Packets that a client sends in flows that it opened before, and those that it receives. */
export function inFlowsOf(tunnel: Tunnel): { up: Batch; down: Batch } {
  const { up, down } = flowOf(tunnel);
  const named = (name: string, packets: Packet[]) =>
    packets.map((packet, index): [string, Packet] => [`${name} ${tunnel.client} ${index}`, packet]);
  return {
    up: [tunnel.sender, named('a packet in a flow of', up)],
    down: [neighbour, named('a response in a flow of', down)],
  };
}

/** Bytes of a tunnel. */
interface Bytes {
  up: number;
  down: number;
}

export class Forgeries {
  readonly #world: VpnWorld;
  readonly #witnesses: Witnesses;
  /** How many packets of honest clients there were. */
  #count = 0;

  constructor(world: VpnWorld) {
    this.#world = world;
    this.#witnesses = new Witnesses(world, ['beyond', 'client1', 'client2']);
  }

  /** Switches IPv6 on, and on the node its forwarding. */
  async start(): Promise<void> {
    this.#world.setIpv6(true, { route: true, forwards: true });
    this.#world.ip('node', `address add ${node6}/128 dev lo nodad`);
    this.#world.ip(
      'beyond',
      `address add ${metadata}/32 dev to-node`,
      `address add ${origin6}/128 dev to-node nodad`,
    );
    await this.#witnesses.start();
    const packet = { source: node6, destination: origin6 };
    await this.#pass({ name: 'node' }, [packet], 'IPv6 of the node', 'beyond');
  }

  stop(): void {
    this.#witnesses.stop();
  }

  /**
   * Sends packets, and returns where they arrived, and to whom they were billed. Legitimate packets
   * follow, which must arrive and be billed; so the others would be noticed, too.
   */
  async escapes(tunnels: readonly Tunnel[], ...batches: Batch[]): Promise<string[]> {
    const before = this.#witnesses.arrivals();
    const expected = this.#billed();
    for (const [sender, packets] of batches) this.#witnesses.send(sender, packets);
    const missing: string[] = [];
    for (const tunnel of tunnels) {
      const used = await this.#use(tunnel).catch((error: Error) => {
        missing.push(error.message);
        return { up: 0, down: 0 };
      });
      const sum = expected.get(tunnel.address) ?? { up: 0, down: 0 };
      expected.set(tunnel.address, { up: sum.up + used.up, down: sum.down + used.down });
    }
    // When this has arrived, programs of the node have received everything before it.
    await this.#pass(
      { name: 'node' },
      [toItself],
      'a packet of a flow that the node opened',
      'node',
    );
    const controls = / of a flow that .* opened \(/;
    const arrivals = [...this.#witnesses.arrivals()];
    const billed = Array.from(this.#billed(), ([address, { up, down }]) => {
      const due = expected.get(address) ?? { up: 0, down: 0 };
      return up === due.up && down === due.down
        ? []
        : [`${address} is billed ${up - due.up} up and ${down - due.down} down for others`];
    });
    const escaped = arrivals.filter((arrival) => !before.has(arrival) && !controls.test(arrival));
    return [...escaped, ...missing, ...billed.flat()];
  }

  /** Plays flows of the client itself. Returns their bytes. */
  async #use(tunnel: Tunnel): Promise<Bytes> {
    const { client, sender } = tunnel;
    const { up, down } = flowOf(tunnel);
    const of = `of a flow that ${client} opened`;
    return {
      up: await this.#pass(sender, up, `a packet ${of}`, 'beyond'),
      down: await this.#pass(neighbour, down, `a response ${of}`, client),
    };
  }

  /**
   * Sends packets, and waits until all have arrived; returns their bytes. Errors: one does not
   * arrive.
   */
  async #pass(sender: Sender, packets: Packet[], what: string, place: string): Promise<number> {
    const named = packets.map((packet): [string, Packet] => {
      this.#count += 1;
      return [`${what} (${this.#count})`, packet];
    });
    const sizes = this.#witnesses.send(sender, named);
    const missing = () => {
      const arrivals = this.#witnesses.arrivals(place === 'node' ? [] : [place]);
      return named.find(([name]) => !arrivals.has(`${name} at ${place}`));
    };
    for (let tries = 0, packet = missing(); packet; packet = missing(), tries += 1) {
      if (tries > 100) throw new Error(`${packet[0]} does not turn up at ${place}`);
      await systemClock.sleep(0.1);
    }
    return sizes.reduce((sum, size) => sum + size, 0);
  }

  /** By address. */
  #billed(): Map<string, Bytes> {
    const json = this.#world.run('node', 'nft', '-j', 'list', 'table', 'inet', 'exitward_vpn');
    const { nftables } = JSON.parse(json) as {
      nftables: Array<{ set?: { name: string; elem?: Array<{ elem: Counted }> } }>;
    };
    const bytesIn = (name: string) => {
      const elements = nftables.flatMap(({ set }) => (set?.name === name ? (set.elem ?? []) : []));
      return new Map(elements.map(({ elem }) => [elem.val, elem.counter.bytes]));
    };
    const down = bytesIn('down');
    return new Map(
      Array.from(bytesIn('up'), ([address, up]) => [address, { up, down: down.get(address) ?? 0 }]),
    );
  }
}

interface Counted {
  val: string;
  counter: { bytes: number };
}
