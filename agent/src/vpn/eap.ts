// The server side of EAP-MSCHAPv2 (draft-kamath-pppext-eap-mschapv2), which is built into iOS,
// macOS, Windows, Android and Linux.
import { randomBytes } from 'node:crypto';
import type { ChapResponse } from './mschap.ts';

const eapCodes = { request: 1, response: 2, success: 3, failure: 4 } as const;
const eapTypes = { identity: 1, nak: 3, mschapv2: 26 } as const;
const chapCodes = { challenge: 1, response: 2, success: 3 } as const;

const challengeLength = 16;
const responseLength = 49;

/** A client's response. */
export type EapResponse =
  | { kind: 'identity'; identifier: number; name: string }
  /** The client supports none of the offered methods. */
  | { kind: 'nak'; identifier: number }
  | { kind: 'response'; identifier: number; response: Omit<ChapResponse, 'challenge'> }
  /** The client has verified that the server has the password too. */
  | { kind: 'success'; identifier: number };

/** Undefined: the packet is none of these, or malformed. */
export function readEap(packet: Buffer): EapResponse | undefined {
  if (packet.length < 5 || packet[0] !== eapCodes.response) return undefined;
  if (packet.readUInt16BE(2) !== packet.length) return undefined;
  const [, identifier = 0, , , type] = packet;
  const data = packet.subarray(5);
  if (type === eapTypes.identity) return { kind: 'identity', identifier, name: data.toString() };
  if (type === eapTypes.nak) return { kind: 'nak', identifier };
  if (type !== eapTypes.mschapv2) return undefined;
  if (data[0] === chapCodes.success) return { kind: 'success', identifier };
  // Code, identifier, length of everything, length of the value, the value, the name.
  const least = 5 + responseLength;
  if (data[0] !== chapCodes.response || data.length < least) return undefined;
  if (data.readUInt16BE(2) !== data.length || data[4] !== responseLength) return undefined;
  const value = data.subarray(5, least);
  const response = {
    peer_challenge: value.subarray(0, 16),
    nt_response: value.subarray(24, 48),
    name: data.subarray(least).toString(),
  };
  return { kind: 'response', identifier, response };
}

/** Asks the client to prove that it has the password. */
export function challengeOf(identifier: number): { packet: Buffer; challenge: Buffer } {
  const challenge = randomBytes(challengeLength);
  const value = Buffer.concat([Buffer.from([challengeLength]), challenge, Buffer.from('exitward')]);
  return { packet: chapRequest(identifier, chapCodes.challenge, value), challenge };
}

/** `authenticator`: proves to the client that this side has the password too. */
export function successOf(identifier: number, authenticator: string): Buffer {
  return chapRequest(identifier, chapCodes.success, Buffer.from(`${authenticator} M=Welcome`));
}

/** The end of the exchange. */
export function endOf(kind: 'success' | 'failure', identifier: number): Buffer {
  return Buffer.from([eapCodes[kind], identifier, 0, 4]);
}

function chapRequest(identifier: number, code: number, value: Buffer): Buffer {
  const length = 4 + value.length;
  const head = Buffer.from([
    eapCodes.request,
    identifier,
    0,
    0,
    eapTypes.mschapv2,
    code,
    identifier,
  ]);
  head.writeUInt16BE(5 + length, 2);
  const inner = Buffer.alloc(2);
  inner.writeUInt16BE(length);
  return Buffer.concat([head, inner, value]);
}
