// IANA's special-purpose address registries and multicast, transcribed, and addresses as plain
// numbers.

/**
 * An address as a number of 128 bits; IPv4 in its IPv4-mapped form. Undefined: not the usual
 * spelling of an address.
 */
export function numberOf(text: string): bigint | undefined {
  if (/^\d+\.\d+\.\d+\.\d+$/.test(text)) {
    const octets = text.split('.').map(Number);
    const plain = octets.every((octet) => octet <= 255) && octets.join('.') === text;
    return plain ? octets.reduce((sum, octet) => sum * 256n + BigInt(octet), 0xffffn) : undefined;
  }
  const tail = /^(.*:)(\d+\.\d+\.\d+\.\d+)$/.exec(text);
  if (tail) {
    const low = numberOf(tail[2] as string);
    if (low === undefined) return undefined;
    const groups = [(low >> 16n) & 0xffffn, low & 0xffffn].map((group) => group.toString(16));
    return numberOf(`${tail[1]}${groups.join(':')}`);
  }
  const halves = text.split('::');
  if (!/^[0-9a-f:]+$/i.test(text) || halves.length > 2) return undefined;
  const [head = [], right] = halves.map((half) => (half === '' ? [] : half.split(':')));
  const zeros = 8 - head.length - (right ?? []).length;
  if (right ? zeros < 1 : zeros !== 0) return undefined;
  const groups = [...head, ...Array<string>(zeros).fill('0'), ...(right ?? [])];
  if (!groups.every((group) => /^[0-9a-f]{1,4}$/i.test(group))) return undefined;
  return groups.reduce((sum, group) => sum * 65536n + BigInt(`0x${group}`), 0n);
}

/** The first and the last address of a network. */
export function boundsOf(network: string): [bigint, bigint] {
  const [ip = '', length] = network.split('/');
  const first = numberOf(ip) as bigint;
  const free = BigInt((ip.includes(':') ? 128 : 32) - Number(length));
  return [first, first + (1n << free) - 1n];
}

export function isIn(ip: bigint, network: string): boolean {
  const [first, last] = boundsOf(network);
  return first <= ip && ip <= last;
}

/** iana-ipv4-special-registry, and multicast. */
const ipv4 = [
  '0.0.0.0/8', // this network
  '10.0.0.0/8', // private
  '100.64.0.0/10', // shared by carriers
  '127.0.0.0/8', // loopback
  '169.254.0.0/16', // link-local, and the metadata of clouds
  '172.16.0.0/12', // private
  '192.0.0.0/24', // IETF protocols
  '192.0.2.0/24', // documentation
  '192.31.196.0/24', // AS112
  '192.52.193.0/24', // AMT
  '192.88.99.0/24', // 6to4 relays
  '192.168.0.0/16', // private
  '192.175.48.0/24', // AS112
  '198.18.0.0/15', // benchmarks
  '198.51.100.0/24', // documentation
  '203.0.113.0/24', // documentation
  '224.0.0.0/4', // multicast
  '240.0.0.0/4', // reserved, and the limited broadcast
];

/** iana-ipv6-special-registry, multicast, and what was never assigned (iana-ipv6-address-space). */
const ipv6 = [
  '::/8', // reserved: all up to 64:ff9b:1::, and what is IPv4 once it is written plainly
  '::/128',
  '::1/128',
  '::/96', // IPv4-compatible
  '64:ff9b::/96', // NAT64
  '64:ff9b:1::/48', // NAT64 of one's own
  '100::/64', // discard
  '100:0:0:1::/64', // dummy prefix
  '2001::/23', // IETF protocols: all below
  '2001::/32', // Teredo
  '2001:1::1/128', // port control
  '2001:1::2/128', // TURN
  '2001:1::3/128', // DNS-SD registration
  '2001:2::/48', // benchmarks
  '2001:3::/32', // AMT
  '2001:4:112::/48', // AS112
  '2001:10::/28', // ORCHID
  '2001:20::/28', // ORCHIDv2
  '2001:30::/28', // drone identities
  '2001:db8::/32', // documentation
  '2002::/16', // 6to4
  '3fff::/20', // documentation
  '5f00::/16', // segment routing
  'fc00::/7', // unique local
  'fe80::/10', // link-local
  'fec0::/10', // site-local
  'ff00::/8', // multicast
  '100::/8',
  '200::/7',
  '400::/6',
  '800::/5',
  '1000::/4',
  '4000::/3',
  '6000::/3',
  '8000::/3',
  'a000::/3',
  'c000::/3',
  'e000::/4',
  'f000::/5',
  'f800::/6',
  'fe00::/9',
];

export const specialNetworks = [...ipv4, ...ipv6];

/**
 * IPv6 with a special purpose that is on the Internet by the registries, and so may be dialled.
 */
export const publicAllTheSame = ['2620:4f:8000::/48'];

/** Whether an address may be in use on the Internet. */
export function isOnTheInternet(ip: string): boolean {
  const number = numberOf(ip);
  if (number === undefined) return false;
  const registry = isIn(number, '::ffff:0:0/96') ? ipv4 : ipv6;
  return !registry.some((network) => isIn(number, network));
}
