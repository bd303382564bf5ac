// MS-CHAPv2 (RFC 2759) and the keys derived from it (RFC 3079), on the side that knows the
// password.
import { createCipheriv, createHash, timingSafeEqual } from 'node:crypto';
import { md4 } from './md4.ts';

/** A client's response, as it is on the wire. */
export interface ChapResponse {
  /** The challenges of the server and the client, 16 bytes each. */
  challenge: Buffer;
  peer_challenge: Buffer;
  /** 24 bytes. */
  nt_response: Buffer;
  /** As the client wrote it; a leading domain is ignored. */
  name: string;
}

export interface ChapProof {
  /** `S=` and 40 hexadecimal digits, which prove to the client that the server has the password. */
  authenticator: string;
  /** The session's keys, 16 bytes each, as the server sees it. */
  receive_key: Buffer;
  send_key: Buffer;
}

/** The proof for a client that has this password; undefined if it does not have it. */
export function proveChap(response: ChapResponse, password: string): ChapProof | undefined {
  const { challenge, peer_challenge, nt_response, name } = response;
  const mixed = sha1(peer_challenge, challenge, Buffer.from(name.replace(/^.*\\/, ''))).subarray(
    0,
    8,
  );
  const hashOfHash = proveMixed(mixed, nt_response, password);
  if (!hashOfHash) return undefined;
  const digest = sha1(hashOfHash, nt_response, Buffer.from(magic.server_signing));
  const signature = sha1(digest, mixed, Buffer.from(magic.pad_iteration));
  const master = sha1(hashOfHash, nt_response, Buffer.from(magic.master)).subarray(0, 16);
  return {
    authenticator: `S=${signature.toString('hex').toUpperCase()}`,
    receive_key: sessionKey(master, magic.client_sends),
    send_key: sessionKey(master, magic.server_sends),
  };
}

/**
 * The same for challenges and name that are already combined into 8 bytes. Returns the hash of the
 * password's hash, from which another program derives the rest.
 */
export function proveMixed(
  mixed: Buffer,
  nt_response: Buffer,
  password: string,
): Buffer | undefined {
  const hash = md4(Buffer.from(password, 'utf16le'));
  const expected = desResponse(mixed, hash);
  if (nt_response.length !== 24 || !timingSafeEqual(expected, nt_response)) return undefined;
  return md4(hash);
}

/** The constants of both RFCs, which are sentences. */
const magic = {
  server_signing: 'Magic server to client signing constant',
  pad_iteration: 'Pad to make it do more than one iteration',
  master: 'This is the MPPE Master Key',
  client_sends:
    'On the client side, this is the send key; on the server side, it is the receive key.',
  server_sends:
    'On the client side, this is the receive key; on the server side, it is the send key.',
};

function sha1(...parts: Buffer[]): Buffer {
  return parts.reduce((hash, part) => hash.update(part), createHash('sha1')).digest();
}

function sessionKey(master: Buffer, sentence: string): Buffer {
  const pads = [Buffer.alloc(40), Buffer.alloc(40, 0xf2)] as const;
  return sha1(master, pads[0], Buffer.from(sentence), pads[1]).subarray(0, 16);
}

/** The challenge encrypted by DES with the three keys that the hash is divided into. */
export function desResponse(challenge: Buffer, hash: Buffer): Buffer {
  const padded = Buffer.concat([hash, Buffer.alloc(5)]);
  return Buffer.concat([0, 7, 14].map((at) => des(challenge, padded.subarray(at, at + 7))));
}

/**
 * DES, as triple DES with three equal keys. `bits`: 56 of them, to which the parity bits are added.
 */
function des(block: Buffer, bits: Buffer): Buffer {
  const all = BigInt(`0x${bits.toString('hex')}`);
  const key = Buffer.from(
    Array.from({ length: 8 }, (_, at) => Number((all >> BigInt(49 - 7 * at)) & 0x7fn) << 1),
  );
  const cipher = createCipheriv('des-ede3', Buffer.concat([key, key, key]), null);
  return cipher.setAutoPadding(false).update(block);
}
