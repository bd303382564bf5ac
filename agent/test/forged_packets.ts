// Forged packets with any source, through any device or tunnel; and the places where they may
// arrive.
import type { ChildProcess } from 'node:child_process';
import { createCipheriv } from 'node:crypto';
import ipaddr from 'ipaddr.js';
import type { VpnWorld } from './vpn_world.ts';

export interface Packet {
  source: string;
  destination: string;
  /**
   * Default: udp. Broken: TCP whose flags contradict each other, which belongs to no connection.
   */
  kind?: 'udp' | 'syn' | 'echo' | 'echo reply' | 'broken';
  /** From and to this port. */
  port?: number;
  /** Instead of a kind: an ICMP error that the flow of this packet needs smaller packets. */
  too_big?: Packet;
}

/** The default port. */
export const forgedPort = 4321;
/** Identifies packets under test, together with their number. */
const dscp = 0x2b;
const protocols = { udp: 17, syn: 6, echo: 1, 'echo reply': 1, broken: 6 } as const;

/** The bytes of an address. */
const bytesOf = (address: string) => Buffer.from(ipaddr.parse(address).toByteArray());
export const isIpv6 = (address: string) => address.includes(':');

/** The bytes of a packet. Its number is the identification of IPv4, the flow label of IPv6. */
export function bytesOfPacket(packet: Packet, number: number): Buffer {
  const addresses = [bytesOf(packet.source), bytesOf(packet.destination)];
  const protocol = packet.too_big ? 1 : protocols[packet.kind ?? 'udp'];
  if (!isIpv6(packet.source)) {
    const payload = payloadOf(packet, number, protocol, addresses);
    const head = Buffer.alloc(12);
    head.set([0x45, dscp << 2]);
    head.writeUInt16BE(20 + payload.length, 2);
    head.writeUInt16BE(number, 4);
    head.set([64, protocol], 8);
    head.writeUInt16BE(checksum(Buffer.concat([head, ...addresses])), 10);
    return Buffer.concat([head, ...addresses, payload]);
  }
  const own = protocol === 1 ? 58 : protocol;
  const payload = payloadOf(packet, number, own, addresses);
  const head = Buffer.alloc(8);
  head.writeUInt32BE((0x60000000 | (dscp << 22) | number) >>> 0);
  head.writeUInt16BE(payload.length, 4);
  head.set([own, 64], 6);
  return Buffer.concat([head, ...addresses, payload]);
}

function payloadOf(packet: Packet, number: number, protocol: number, addresses: Buffer[]): Buffer {
  const { kind = 'udp', port = forgedPort, too_big } = packet;
  const ports = Buffer.alloc(4);
  ports.writeUInt16BE(port);
  ports.writeUInt16BE(port, 2);
  const data = Buffer.from(`${number}\n`);
  let payload: Buffer;
  let at: number;
  if (too_big) {
    const quoted = bytesOfPacket(too_big, 0).subarray(0, 28);
    payload = Buffer.concat([Buffer.from([3, 4, 0, 0, 0, 0, 1280 >> 8, 1280 & 255]), quoted]);
    at = 2;
  } else if (protocol === 1 || protocol === 58) {
    const type = protocol === 58 ? 128 : kind === 'echo' ? 8 : 0;
    payload = Buffer.concat([Buffer.from([type, 0, 0, 0]), ports]);
    at = 2;
  } else if (kind === 'syn' || kind === 'broken') {
    const flags = kind === 'syn' ? 0x02 : 0x07;
    payload = Buffer.concat([
      ports,
      Buffer.alloc(8),
      Buffer.from([0x50, flags, 16, 0]),
      Buffer.alloc(4),
    ]);
    at = 16;
  } else {
    const sizes = Buffer.from([0, 8 + data.length, 0, 0]);
    payload = Buffer.concat([ports, sizes, data]);
    at = 6;
  }
  // ICMP of IPv4 alone has no pseudo header.
  const pseudo = Buffer.from([0, protocol, payload.length >> 8, payload.length & 255]);
  const summed = protocol === 1 ? [payload] : [...addresses, pseudo, payload];
  payload.writeUInt16BE(checksum(Buffer.concat(summed)), at);
  return payload;
}

function checksum(bytes: Buffer): number {
  let sum = 0;
  for (const [at, byte] of bytes.entries()) sum += at % 2 === 0 ? byte * 256 : byte;
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16);
  return ~sum & 0xffff;
}

/** Keys of the direction from a client to its node, by AES-GCM. */
export interface Keys {
  /** 32 bytes and the salt. */
  key: Buffer;
  spi: number;
  /** Of the client and the exit, outside. */
  outer: { source: string; destination: string };
  /** Whether ESP is inside UDP. */
  isInUdp: boolean;
}

/** Seals packets with the keys of an honest client, whatever is in them. */
export class Sealer {
  readonly #keys: Keys;
  /** Higher than all numbers that the client used itself. */
  #sequence = 100_000;

  constructor(keys: Keys) {
    this.#keys = keys;
  }

  seal(inner: Buffer): Buffer {
    const { key, spi, outer, isInUdp } = this.#keys;
    this.#sequence += 1;
    const head = Buffer.alloc(16);
    head.writeUInt32BE(spi);
    head.writeUInt32BE(this.#sequence, 4);
    head.writeUInt32BE(this.#sequence, 12);
    const fill = (4 - ((inner.length + 2) % 4)) % 4;
    const padding = Buffer.from(Array.from({ length: fill }, (_, at) => at + 1));
    const next = (inner[0] ?? 0) >> 4 === 6 ? 41 : 4;
    const nonce = Buffer.concat([key.subarray(32), head.subarray(8)]);
    const cipher = createCipheriv('aes-256-gcm', key.subarray(0, 32), nonce);
    cipher.setAAD(head.subarray(0, 8));
    const plain = Buffer.concat([inner, padding, Buffer.from([fill, next])]);
    const sealed = [head, cipher.update(plain), cipher.final(), cipher.getAuthTag()];
    const esp = Buffer.concat(sealed);
    const udp = Buffer.alloc(8);
    for (const at of [0, 2]) udp.writeUInt16BE(4500, at);
    udp.writeUInt16BE(8 + esp.length, 4);
    const payload = isInUdp ? Buffer.concat([udp, esp]) : esp;
    const ip = Buffer.alloc(12);
    ip.set([0x45]);
    ip.writeUInt16BE(20 + payload.length, 2);
    ip.set([64, isInUdp ? 17 : 50], 8);
    const addresses = [bytesOf(outer.source), bytesOf(outer.destination)];
    ip.writeUInt16BE(checksum(Buffer.concat([ip, ...addresses])), 10);
    return Buffer.concat([ip, ...addresses, payload]);
  }
}

/**
 * From where packets are sent. Without a device: by the kernel's own ways, as a program of that
 * machine would.
 */
export interface Sender {
  name: string;
  device?: string;
  sealer?: Sealer;
}

const sendProgram = `
import socket, sys
link = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM)
raw = {4: socket.socket(socket.AF_INET, socket.SOCK_RAW, 255), 6: socket.socket(socket.AF_INET6, socket.SOCK_RAW, 255)}
print('ready', flush=True)
for line in sys.stdin:
    device, mac, to, packet = line.split()
    packet = bytes.fromhex(packet)
    version = packet[0] >> 4
    try:
        if device != '-': link.sendto(packet, (device, {4: 0x0800, 6: 0x86dd}[version], 0, 0, bytes.fromhex(mac)))
        else: raw[version].sendto(packet, (to, 0))
    except OSError as error:
        print(line[:40], error, file=sys.stderr, flush=True)
`;

/** Receives like a program of the machine, and prints the numbers. */
const receiveProgram = `
import socket
s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
s.bind(('::', ${forgedPort}))
print('ready', flush=True)
while True: print(s.recv(100).decode(), end='', flush=True)
`;

const python = ['/usr/bin/python3', '-ISc'];

/** Sends packets, and finds out where they arrive. */
export class Witnesses {
  readonly #world: VpnWorld;
  /** The places where packets are seen at once. The node reports what its programs receive. */
  readonly #places: readonly string[];
  readonly #senders = new Map<string, ChildProcess>();
  readonly #sent: string[] = [];
  #received = '';

  constructor(world: VpnWorld, places: readonly string[]) {
    this.#world = world;
    this.#places = places;
  }

  async start(): Promise<void> {
    const rules = `table inet witness {
      set four { typeof ip id; flags dynamic; size 65536; }
      set six { typeof ip6 flowlabel; flags dynamic; size 65536; }
      chain seen {
        type filter hook prerouting priority -500
        meta l4proto != { tcp, udp, icmp, icmpv6 } accept
        udp dport { 500, 1701, 4500 } accept
        ip dscp ${dscp} add @four { ip id }
        ip6 dscp ${dscp} add @six { ip6 flowlabel }
      }
      # Nothing is said to what turned up: it would be billed.
      chain silence {
        type filter hook output priority 0
        icmp type { destination-unreachable, echo-reply } drop
        icmpv6 type { destination-unreachable, echo-reply } drop
        tcp flags & rst != 0 drop
      }
    }`;
    for (const place of this.#places) this.#world.run(place, 'nft', rules);
    for (const name of [...this.#places, 'node']) {
      this.#senders.set(name, await this.#world.spawnReady(name, [...python, sendProgram]));
    }
    const receiver = await this.#world.spawnReady('node', [...python, receiveProgram]);
    receiver.stdout?.on('data', (bytes) => {
      this.#received += bytes;
    });
    this.#senders.set('the receiver', receiver);
  }

  stop(): void {
    for (const place of this.#places) this.#world.run(place, 'nft', 'delete table inet witness');
    for (const child of this.#senders.values()) child.kill('SIGKILL');
  }

  /**
   * Sends them one after the other; returns their bytes, unsealed. `arrivals` shows where they
   * arrive, by these names.
   */
  send({ name, device, sealer }: Sender, packets: ReadonlyArray<[string, Packet]>): number[] {
    const mac = device?.startsWith('to-') ? this.#macBehind(name, device) : '000000000000';
    return packets.map(([what, packet]) => {
      const bytes = bytesOfPacket(packet, this.#sent.push(what));
      const sealed = (sealer?.seal(bytes) ?? bytes).toString('hex');
      const line = `${device ?? '-'} ${mac} ${packet.destination} ${sealed}\n`;
      this.#senders.get(name)?.stdin?.write(line);
      return bytes.length;
    });
  }

  /** All packets that have arrived at these places and at the node. */
  arrivals(places = this.#places): Set<string> {
    const at = (place: string, numbers: Iterable<string>) =>
      Array.from(numbers, (number) => `${this.#sent[Number(number) - 1]} at ${place}`);
    const seen = places.flatMap((place) => {
      const json = this.#world.run(place, 'nft', '-j', 'list', 'table', 'inet', 'witness');
      const { nftables } = JSON.parse(json) as { nftables: Array<{ set?: { elem?: number[] } }> };
      return at(place, nftables.flatMap(({ set }) => set?.elem ?? []).map(String));
    });
    return new Set([...seen, ...at('node', this.#received.split('\n').filter(Boolean))]);
  }

  /** The address of the other end of a cable. */
  #macBehind(name: string, device: string): string {
    const path = `/sys/class/net/to-${name}/address`;
    return this.#world.run(device.replace('to-', ''), 'cat', path).replaceAll(':', '');
  }
}
