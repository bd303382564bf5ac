// MD4 (RFC 1320), which NT hashes need. Node's own libraries no longer have it.

const rotations = [
  [3, 7, 11, 19],
  [3, 5, 9, 13],
  [3, 9, 11, 15],
] as const;

/** The order in which each round takes the words of a block. */
const orders = [
  Array.from({ length: 16 }, (_, at) => at),
  Array.from({ length: 16 }, (_, at) => (at % 4) * 4 + Math.floor(at / 4)),
  [0, 8, 4, 12, 2, 10, 6, 14, 1, 9, 5, 13, 3, 11, 7, 15],
] as const;

const constants = [0, 0x5a827999, 0x6ed9eba1] as const;

const mixes = [
  (x: number, y: number, z: number) => (x & y) | (~x & z),
  (x: number, y: number, z: number) => (x & y) | (x & z) | (y & z),
  (x: number, y: number, z: number) => x ^ y ^ z,
] as const;

/** The digest, 16 bytes. */
export function md4(message: Buffer): Buffer {
  const padded = Buffer.alloc(Math.ceil((message.length + 9) / 64) * 64);
  message.copy(padded);
  padded[message.length] = 0x80;
  padded.writeUInt32LE((message.length * 8) >>> 0, padded.length - 8);
  let state = [0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476];
  for (let start = 0; start < padded.length; start += 64) {
    const before = state;
    for (const [round, order] of orders.entries()) {
      for (const [step, word] of order.entries()) {
        const [a = 0, b = 0, c = 0, d = 0] = state;
        const mixed = mixes[round]?.(b, c, d) ?? 0;
        const sum =
          (a + mixed + padded.readUInt32LE(start + word * 4) + (constants[round] ?? 0)) | 0;
        const by = rotations[round]?.[step % 4] ?? 0;
        state = [d, (sum << by) | (sum >>> (32 - by)), b, c];
      }
    }
    state = state.map((value, at) => (value + (before[at] ?? 0)) | 0);
  }
  const digest = Buffer.alloc(16);
  for (const [at, value] of state.entries()) digest.writeInt32LE(value | 0, at * 4);
  return digest;
}
