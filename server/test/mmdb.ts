// Writes small MMDB files (MaxMind DB format 2.0): a search tree, a data section, metadata.
import { isIPv4 } from 'node:net';
import ipaddr from 'ipaddr.js';

type Value = string | number | bigint | boolean | Value[] | { [key: string]: Value };

/** A record of the search tree: another node, data at an offset, or nothing. */
type Branch = { node: number } | { data: number } | undefined;

const separator = Buffer.alloc(16);
const metadataMark = Buffer.from('\xab\xcd\xefMaxMind.com', 'latin1');

interface Options {
  /** 4: the file can only hold IPv4. In one of 6, IPv4 lies at ::/96. */
  ip_version?: 4 | 6;
  type?: string;
  built_at?: number;
}

/** A file that maps networks (CIDR) to records; later networks must not lie within earlier ones. */
export function mmdbFile(
  networks: Record<string, Value>,
  { ip_version = 6, type = 'Test-City', built_at = 1_790_000_000 }: Options = {},
): Buffer {
  const nodes: Array<[Branch, Branch]> = [[undefined, undefined]];
  const data: Buffer[] = [];
  let offset = 0;
  for (const [network, record] of Object.entries(networks)) {
    insert(nodes, bitsOf(network, ip_version), { data: offset });
    const bytes = encode(record);
    data.push(bytes);
    offset += bytes.length;
  }
  const tree = Buffer.alloc(nodes.length * 8);
  for (const [at, branches] of nodes.entries()) {
    for (const side of [0, 1] as const) {
      tree.writeUInt32BE(numberOf(branches[side], nodes.length), at * 8 + side * 4);
    }
  }
  const metadata = Buffer.concat([
    encodeHead(7, 9),
    ...entry('node_count', encodeWhole(6, BigInt(nodes.length))),
    ...entry('record_size', encodeWhole(5, 32n)),
    ...entry('ip_version', encodeWhole(5, BigInt(ip_version))),
    ...entry('database_type', encode(type)),
    ...entry('languages', encode(['en'])),
    ...entry('binary_format_major_version', encodeWhole(5, 2n)),
    ...entry('binary_format_minor_version', encodeWhole(5, 0n)),
    ...entry('build_epoch', encodeWhole(9, BigInt(built_at))),
    ...entry('description', encode({ en: 'Made by a test' })),
  ]);
  return Buffer.concat([tree, separator, ...data, metadataMark, metadata]);
}

function bitsOf(network: string, ip_version: 4 | 6): number[] {
  const [address = '', length] = network.split('/');
  const bytes = ipaddr.parse(address).toByteArray();
  const padding = ip_version === 6 && isIPv4(address) ? 96 : 0;
  const bits = bytes.flatMap((byte) => [7, 6, 5, 4, 3, 2, 1, 0].map((bit) => (byte >> bit) & 1));
  return [...new Array(padding).fill(0), ...bits].slice(0, padding + Number(length));
}

function insert(nodes: Array<[Branch, Branch]>, bits: number[], leaf: Branch): void {
  let at = 0;
  for (const bit of bits.slice(0, -1)) {
    const node = nodes[at] as [Branch, Branch];
    const next = node[bit as 0 | 1];
    if (next && 'data' in next) throw new Error('a network lies within an earlier one');
    if (next) {
      at = next.node;
    } else {
      node[bit as 0 | 1] = { node: nodes.length };
      at = nodes.push([undefined, undefined]) - 1;
    }
  }
  (nodes[at] as [Branch, Branch])[bits.at(-1) as 0 | 1] = leaf;
}

function numberOf(branch: Branch, node_count: number): number {
  if (!branch) return node_count;
  return 'node' in branch ? branch.node : node_count + separator.length + branch.data;
}

function encode(value: Value): Buffer {
  if (typeof value === 'string') {
    const bytes = Buffer.from(value);
    return Buffer.concat([encodeHead(2, bytes.length), bytes]);
  }
  if (typeof value === 'number') {
    const bytes = Buffer.alloc(8);
    bytes.writeDoubleBE(value);
    return Buffer.concat([encodeHead(3, 8), bytes]);
  }
  if (typeof value === 'bigint') return encodeWhole(6, value);
  if (typeof value === 'boolean') return encodeHead(14, value ? 1 : 0);
  if (Array.isArray(value)) {
    return Buffer.concat([encodeHead(11, value.length), ...value.map(encode)]);
  }
  const entries = Object.entries(value);
  return Buffer.concat([
    encodeHead(7, entries.length),
    ...entries.flatMap(([key, inner]) => entry(key, encode(inner))),
  ]);
}

function entry(key: string, bytes: Buffer): Buffer[] {
  return [encode(key), bytes];
}

/** An unsigned integer of a type (5: 16 bits, 6: 32, 9: 64), without leading zeros. */
function encodeWhole(type: number, value: bigint): Buffer {
  const digits = value === 0n ? '' : value.toString(16);
  const bytes = Buffer.from(digits.padStart(digits.length + (digits.length % 2), '0'), 'hex');
  return Buffer.concat([encodeHead(type, bytes.length), bytes]);
}

/** The control byte or bytes; nothing that a test writes is longer than 284. */
function encodeHead(type: number, size: number): Buffer {
  const [short, more] = size < 29 ? [size, []] : [29, [size - 29]];
  return type > 7
    ? Buffer.from([short, type - 7, ...more])
    : Buffer.from([(type << 5) | short, ...more]);
}
