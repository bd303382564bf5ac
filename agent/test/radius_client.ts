// A client of RADIUS like charon: requests, and whole logins by EAP-MSCHAPv2 or a password.
import { createHash, createHmac, randomBytes } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { md4 } from '../src/vpn/md4.ts';
import { desResponse } from '../src/vpn/mschap.ts';
import { radiusAddress } from '../src/vpn/radius_server.ts';

export type Attribute = [type: number, value: Buffer];

/** An Access-Request with a Message-Authenticator (RFC 3579, 3.2). */
export function requestOf(
  attributes: readonly Attribute[],
  secret: string,
  identifier = 9,
  authenticator = randomBytes(16),
): Buffer {
  const all: Attribute[] = [...attributes, [80, Buffer.alloc(16)]];
  const body = Buffer.concat(
    all.map(([type, value]) => Buffer.concat([Buffer.from([type, value.length + 2]), value])),
  );
  const head = Buffer.concat([Buffer.from([1, identifier, 0, 0]), authenticator]);
  head.writeUInt16BE(20 + body.length, 2);
  const packet = Buffer.concat([head, body]);
  const signature = createHmac('md5', secret).update(packet).digest();
  signature.copy(packet, packet.length - 16);
  return packet;
}

export interface RadiusReach {
  port: number;
  secret: string;
  /** The address that is dialled. */
  exit_ip: string;
}

/** A socket with one request at a time. */
export class RadiusClient {
  readonly #socket = createSocket('udp4');
  readonly #reach: RadiusReach;
  #identifier = 0;

  constructor(reach: RadiusReach) {
    this.#reach = reach;
  }

  /**
   * The code of the response, its EAP packet and its state. `password`: hidden by the secret (RFC
   * 2865, 5.2).
   */
  async ask(login: string, more: readonly Attribute[], password?: string) {
    const { port, secret, exit_ip } = this.#reach;
    const answered = new Promise<Buffer>((resolve) => this.#socket.once('message', resolve));
    this.#identifier = (this.#identifier + 1) & 0xff;
    const authenticator = randomBytes(16);
    const texts = { 1: login, 30: exit_ip, 31: '192.0.2.1', 87: `vpn-ikev2 ${exit_ip}` };
    const attributes: Attribute[] = [
      ...Object.entries(texts).map(([type, text]): Attribute => [Number(type), Buffer.from(text)]),
      ...more,
    ];
    if (password !== undefined) attributes.push([2, hidden(password, secret, authenticator)]);
    const request = requestOf(attributes, secret, this.#identifier, authenticator);
    this.#socket.send(request, port, radiusAddress);
    const bytes = await answered;
    const values = new Map<number, Buffer>();
    for (let at = 20; at < bytes.length; at += bytes[at + 1] as number) {
      values.set(bytes[at] as number, bytes.subarray(at + 2, at + (bytes[at + 1] as number)));
    }
    return { code: bytes[0], eap: values.get(79) ?? Buffer.alloc(0), state: values.get(24) };
  }

  close(): void {
    this.#socket.close();
  }
}

function hidden(password: string, secret: string, authenticator: Buffer): Buffer {
  const clear = Buffer.alloc(Math.ceil(password.length / 16) * 16);
  clear.write(password);
  const blocks: Buffer[] = [];
  let last = authenticator;
  for (let at = 0; at < clear.length; at += 16) {
    const pad = createHash('md5').update(secret).update(last).digest();
    last = Buffer.from(clear.subarray(at, at + 16).map((byte, index) => byte ^ (pad[index] ?? 0)));
    blocks.push(last);
  }
  return Buffer.concat(blocks);
}

function eapOf(identifier: number, ...parts: Buffer[]): Buffer {
  const data = Buffer.concat(parts);
  const head = Buffer.from([2, identifier, 0, 0]);
  head.writeUInt16BE(4 + data.length, 2);
  return Buffer.concat([head, data]);
}

/** The whole exchange; returns the code of the last response; 2: accepted. */
export async function loginByEap(
  client: RadiusClient,
  login: string,
  password: string,
): Promise<number | undefined> {
  const named = Buffer.from(login);
  const challenge = await client.ask(login, [[79, eapOf(1, Buffer.from([1]), named)]]);
  const state = (from: { state: Buffer | undefined }): Attribute => [
    24,
    from.state ?? Buffer.alloc(0),
  ];
  const peer = randomBytes(16);
  const mixed = createHash('sha1')
    .update(peer)
    .update(challenge.eap.subarray(10, 26))
    .update(login)
    .digest();
  const response = desResponse(mixed.subarray(0, 8), md4(Buffer.from(password, 'utf16le')));
  const chap = Buffer.from([26, 2, challenge.eap[6] as number, 0, 0, 49]);
  chap.writeUInt16BE(4 + 1 + 49 + named.length, 3);
  const value = [chap, peer, Buffer.alloc(8), response, Buffer.alloc(1), named];
  const proof: Attribute = [79, eapOf(challenge.eap[1] as number, ...value)];
  const proven = await client.ask(login, [proof, state(challenge)]);
  if (proven.code !== 11) return proven.code;
  const done = eapOf(proven.eap[1] as number, Buffer.from([26, 3]));
  return (await client.ask(login, [[79, done], state(proven)])).code;
}
