// Reads and writes RADIUS packets (RFC 2865, RFC 3579), authenticated by the secret that both sides
// share.
import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { isIPv4 } from 'node:net';

export const codes = {
  access_request: 1,
  access_accept: 2,
  access_reject: 3,
  access_challenge: 11,
} as const;

export const attributes = {
  user_name: 1,
  user_password: 2,
  framed_address: 8,
  reply_message: 18,
  state: 24,
  vendor: 26,
  called_station: 30,
  calling_station: 31,
  nas_identifier: 32,
  eap_message: 79,
  message_authenticator: 80,
  nas_port_id: 87,
} as const;

export interface RadiusPacket {
  code: number;
  identifier: number;
  /** 16 bytes. */
  authenticator: Buffer;
  /** In order. */
  attributes: Array<[type: number, value: Buffer]>;
}

const header = 20;
const longest = 4096;
const longestValue = 253;

/** Reads a request. Undefined: it is malformed, or its sender does not have the secret. */
export function readRequest(datagram: Buffer, secret: string): RadiusPacket | undefined {
  if (datagram.length < header) return undefined;
  const length = datagram.readUInt16BE(2);
  if (length < header || length > longest || length > datagram.length) return undefined;
  const bytes = datagram.subarray(0, length);
  const list: RadiusPacket['attributes'] = [];
  let signatureStart: number | undefined;
  for (let at = header; at < length; ) {
    const [type = 0, size = 0] = bytes.subarray(at, at + 2);
    if (size < 2 || at + size > length) return undefined;
    if (type === attributes.message_authenticator) {
      if (size !== 18 || signatureStart !== undefined) return undefined;
      signatureStart = at + 2;
    }
    list.push([type, bytes.subarray(at + 2, at + size)]);
    at += size;
  }
  // Required even without EAP: otherwise programs on this machine could forge requests.
  if (signatureStart === undefined) return undefined;
  const signature = bytes.subarray(signatureStart, signatureStart + 16);
  const blank = Buffer.from(bytes);
  blank.fill(0, signatureStart, signatureStart + 16);
  if (!timingSafeEqual(hmac(secret, blank), signature)) return undefined;
  return {
    code: bytes[0] as number,
    identifier: bytes[1] as number,
    authenticator: bytes.subarray(4, header),
    attributes: list,
  };
}

/** The response to a request, signed. */
export function writeResponse(
  request: RadiusPacket,
  code: number,
  values: RadiusPacket['attributes'],
  secret: string,
): Buffer {
  const all: RadiusPacket['attributes'] = [
    ...values,
    [attributes.message_authenticator, Buffer.alloc(16)],
  ];
  const body = Buffer.concat(
    all.map(([type, value]) => Buffer.concat([Buffer.from([type, value.length + 2]), value])),
  );
  const head = Buffer.alloc(header);
  head.writeUInt8(code, 0);
  head.writeUInt8(request.identifier, 1);
  head.writeUInt16BE(header + body.length, 2);
  // Both signatures include the request's authenticator, so it is in the head first.
  request.authenticator.copy(head, 4);
  hmac(secret, head, body).copy(body, body.length - 16);
  const digest = createHash('md5').update(head).update(body).update(secret).digest();
  digest.copy(head, 4);
  return Buffer.concat([head, body]);
}

/** The first value of a type. */
export function bytesOf(packet: RadiusPacket, type: number): Buffer | undefined {
  return packet.attributes.find(([kind]) => kind === type)?.[1];
}

export function textOf(packet: RadiusPacket, type: number): string | undefined {
  return bytesOf(packet, type)?.toString();
}

/** The EAP packet, which may be split into several attributes. */
export function eapOf(packet: RadiusPacket): Buffer | undefined {
  const parts = packet.attributes.filter(([type]) => type === attributes.eap_message);
  return parts.length === 0 ? undefined : Buffer.concat(parts.map(([, value]) => value));
}

export function eapAttributes(eap: Buffer): RadiusPacket['attributes'] {
  const parts: RadiusPacket['attributes'] = [];
  for (let at = 0; at < eap.length; at += longestValue) {
    parts.push([attributes.eap_message, eap.subarray(at, at + longestValue)]);
  }
  return parts;
}

/** A plain password, hidden only by the shared secret (RFC 2865, 5.2). */
export function passwordOf(packet: RadiusPacket, secret: string): string | undefined {
  const hidden = bytesOf(packet, attributes.user_password);
  if (!hidden || hidden.length === 0 || hidden.length > 128 * 2 || hidden.length % 16 !== 0) {
    return undefined;
  }
  const clear = mask(hidden, secret, packet.authenticator, 'reading');
  const end = clear.indexOf(0);
  return clear.subarray(0, end < 0 ? clear.length : end).toString();
}

const microsoft = 311;
const keyTypes = { send: 16, receive: 17 } as const;

/** A session key as Microsoft's attribute, hidden by the secret (RFC 2548, 2.4.2). */
export function keyAttribute(
  kind: keyof typeof keyTypes,
  key: Buffer,
  request: RadiusPacket,
  secret: string,
): [number, Buffer] {
  const salt = randomBytes(2);
  // The two salts of a packet must differ, and the top bit is set.
  salt[0] = ((salt[0] as number) & 0x3f) | 0x80 | (kind === 'send' ? 0x40 : 0);
  const plain = Buffer.alloc(Math.ceil((key.length + 1) / 16) * 16);
  plain.writeUInt8(key.length);
  key.copy(plain, 1);
  const hidden = mask(plain, secret, Buffer.concat([request.authenticator, salt]), 'writing');
  const head = Buffer.alloc(6);
  head.writeUInt32BE(microsoft, 0);
  head.writeUInt8(keyTypes[kind], 4);
  head.writeUInt8(2 + salt.length + hidden.length, 5);
  return [attributes.vendor, Buffer.concat([head, salt, hidden])];
}

const altiga = 3076;
const primaryDns = 5;

/** IPv4 name servers for the client, as charon understands them: in a Cisco attribute. */
export function nameServerAttributes(addresses: readonly string[]): RadiusPacket['attributes'] {
  return addresses.map((address) => {
    const head = Buffer.alloc(6);
    head.writeUInt32BE(altiga, 0);
    head.writeUInt8(primaryDns, 4);
    head.writeUInt8(6, 5);
    return [attributes.vendor, Buffer.concat([head, bytesOfIpv4(address)])];
  });
}

/** The client's address inside the tunnel. */
export function framedAddress(address: string): [number, Buffer] {
  return [attributes.framed_address, bytesOfIpv4(address)];
}

function bytesOfIpv4(address: string): Buffer {
  if (!isIPv4(address)) throw new Error(`${address} is no IPv4 address`);
  return Buffer.from(address.split('.').map(Number));
}

/** Masks blocks of 16 bytes, each with the MD5 of the secret and the previous hidden block. */
function mask(bytes: Buffer, secret: string, first: Buffer, way: 'reading' | 'writing'): Buffer {
  const out = Buffer.alloc(bytes.length);
  let before = first;
  for (let at = 0; at < bytes.length; at += 16) {
    const pad = createHash('md5').update(secret).update(before).digest();
    for (let i = 0; i < 16; i += 1) out[at + i] = (bytes[at + i] as number) ^ (pad[i] as number);
    before = (way === 'reading' ? bytes : out).subarray(at, at + 16);
  }
  return out;
}

function hmac(secret: string, ...parts: Buffer[]): Buffer {
  return parts.reduce((hash, part) => hash.update(part), createHmac('md5', secret)).digest();
}
