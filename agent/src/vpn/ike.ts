// The first messages of IKE, by which a node finds out whether its charon serves an exit: IKEv2
// (RFC 7296) and IKEv1 (RFC 2407 to 2409).
import { randomBytes } from 'node:crypto';
import type { IkeVersion } from '../engine.ts';

/** The response to a first message. */
export interface IkeResponse {
  /** The responder's SPI; zeros: it keeps no state. */
  spi: Buffer;
  /** The error's type (RFC 7296, 3.10.1; RFC 2408, 3.14.1); undefined: it continues. */
  error: number | undefined;
}

export const spiBytes = 8;
const headerBytes = 28;
/** The header of a payload: the kind of the next one, a flag, and its length. */
const payloadBytes = 4;
const noSpi = Buffer.alloc(spiBytes);
const exchanges = { main_mode: 2, informational: 5, ike_sa_init: 34 };
const payloads = {
  '1': { sa: 1, notification: 11 },
  '2': { sa: 33, key_exchange: 34, nonce: 40, notification: 41 },
};
const flags = { initiator: 0x08, response: 0x20 };
/** Types of notifications, errors included; those from 16384 on report a state. */
export const notifications = { no_proposal_chosen: 14, invalid_ke_payload: 17, cookie: 16390 };
const minStatus = 16384;
/** The domain of interpretation (RFC 2407) of IPsec. */
const ipsec = [0, 0, 0, 1];

/**
 * The first message of an exchange. For IKEv2 it offers a group that charon accepts, with the key
 * of another one, like a client that guessed wrong. A charon that serves the exit asks for the
 * accepted group (INVALID_KE_PAYLOAD) and keeps no state: charon would count half-open ones. An
 * unacceptable proposal keeps no state, either, but a charon that does not know the exit would
 * refuse it in the same way.
 */
export function firstMessage(version: IkeVersion, spi: Buffer): Buffer {
  const head = { version, initiator: spi, responder: noSpi, id: 0 };
  if (version === '1') {
    const sa = [...ipsec, 0, 0, 0, 1, ...mainModeProposal()];
    return messageOf({ ...head, exchange: exchanges.main_mode, flags: 0 }, [
      [payloads[1].sa, Buffer.from(sa)],
    ]);
  }
  const { sa, key_exchange, nonce } = payloads[2];
  // 66 bytes for each coordinate.
  const key = Buffer.concat([Buffer.from([0, groupRefused, 0, 0]), randomBytes(132)]);
  return messageOf({ ...head, exchange: exchanges.ike_sa_init, flags: flags.initiator }, [
    [sa, initProposal()],
    [key_exchange, key],
    [nonce, randomBytes(32)],
  ]);
}

/**
 * Ends an exchange of IKEv1 after the response: when the initiator sends an error, charon drops the
 * half-open state. In main mode, each first message that shows as much creates that state.
 */
export function abandonment(initiator: Buffer, responder: Buffer): Buffer {
  const { no_proposal_chosen } = notifications;
  // For ISAKMP, without an SPI.
  const body = Buffer.from([...ipsec, 1, 0, 0, no_proposal_chosen]);
  const head = { version: '1' as const, initiator, responder, flags: 0 };
  const id = randomBytes(4).readUInt32BE();
  return messageOf({ ...head, id, exchange: exchanges.informational }, [
    [payloads[1].notification, body],
  ]);
}

/** Reads the response to the first message with this SPI; undefined for anything else. */
export function readResponse(
  version: IkeVersion,
  spi: Buffer,
  datagram: Buffer,
): IkeResponse | undefined {
  if (datagram.length < headerBytes || datagram.readUInt32BE(24) !== datagram.length) return;
  if (!datagram.subarray(0, spiBytes).equals(spi)) return;
  const [first = 0, major = 0, exchange = 0, flag = 0] = datagram.subarray(16, 20);
  if (major >> 4 !== Number(version)) return;
  const isNew = version === '2';
  if (isNew && (exchange !== exchanges.ike_sa_init || flag !== flags.response)) return;
  if (isNew && datagram.readUInt32BE(20) !== 0) return;
  const isRefusal = exchange === exchanges.informational;
  if (!isNew && exchange !== exchanges.main_mode && !isRefusal) return;
  const parts = payloadsOf(first, datagram.subarray(headerBytes));
  const { sa, notification } = payloads[version];
  const responder = datagram.subarray(spiBytes, 2 * spiBytes);
  const errors = (parts?.get(notification) ?? []).flatMap((body) => errorOf(version, body) ?? []);
  if (errors.length > 0) return { spi: responder, error: errors[0] };
  if (!parts?.has(sa) || isRefusal || responder.equals(noSpi)) return;
  return { spi: responder, error: undefined };
}

/** The bodies of the payloads, by kind; undefined: they are incomplete. */
function payloadsOf(first: number, bytes: Buffer): Map<number, Buffer[]> | undefined {
  const payloads = new Map<number, Buffer[]>();
  let [kind, at] = [first, 0];
  while (kind !== 0) {
    if (bytes.length - at < payloadBytes) return undefined;
    const length = bytes.readUInt16BE(at + 2);
    if (length < payloadBytes) return undefined;
    const body = bytes.subarray(at + payloadBytes, at + length);
    payloads.set(kind, [...(payloads.get(kind) ?? []), body]);
    kind = bytes[at] ?? 0;
    at += length;
  }
  return at === bytes.length ? payloads : undefined;
}

/** The error in a notification. A cookie counts, too: it asks for another first message. */
function errorOf(version: IkeVersion, body: Buffer): number | undefined {
  // IKEv1 has the domain of interpretation before the same fields.
  const at = version === '1' ? 6 : 2;
  if (body.length < at + 2) return undefined;
  const type = body.readUInt16BE(at);
  return type < minStatus || type === notifications.cookie ? type : undefined;
}

// ---- Proposals ----------------------------------------------------------------------------

/** ECP-256, which the real proposals use (`connections.ts`); and ECP-521, which none uses. */
const groupTaken = 19;
const groupRefused = 21;

/** AES-GCM with 256 bits and SHA-256. */
function initProposal(): Buffer {
  const transforms = [
    { type: 1, id: 20, key_bits: 256 },
    { type: 2, id: 5 },
    ...[groupTaken, groupRefused].map((id) => ({ type: 4, id })),
  ].map(({ type, id, key_bits }, at, all) => {
    const attributes = key_bits === undefined ? [] : attribute(14, key_bits);
    return structure(at < all.length - 1 ? 3 : 0, [type, 0, ...short(id), ...attributes]);
  });
  return proposalOf(transforms);
}

/** AES-CBC with 256 bits and SHA-256, with a shared key, for an hour. */
function mainModeProposal(): Buffer {
  const attributes = Object.entries({
    1: 7,
    14: 256,
    2: 4,
    3: 1,
    4: groupTaken,
    11: 1,
    12: 3600,
  }).flatMap(([type, value]) => attribute(Number(type), value));
  return proposalOf([structure(0, [1, 1, 0, 0, ...attributes])]);
}

/** The only proposal; for IKE, without an SPI. */
function proposalOf(transforms: readonly Buffer[]): Buffer {
  return structure(0, [1, 1, 0, transforms.length, ...Buffer.concat(transforms)]);
}

function structure(next: number, body: readonly number[]): Buffer {
  return Buffer.from([next, 0, ...short(payloadBytes + body.length), ...body]);
}

const attribute = (type: number, value: number) => [...short(0x8000 | type), ...short(value)];

const short = (value: number) => [value >> 8, value & 0xff];

interface Head {
  version: IkeVersion;
  initiator: Buffer;
  responder: Buffer;
  exchange: number;
  flags: number;
  id: number;
}

function messageOf(head: Head, parts: ReadonlyArray<readonly [kind: number, body: Buffer]>) {
  const bodies = parts.map(([, body], at) => structure(parts[at + 1]?.[0] ?? 0, [...body]));
  const length = bodies.reduce((sum, body) => sum + body.length, headerBytes);
  const numbers = Buffer.alloc(8);
  numbers.writeUInt32BE(head.id);
  numbers.writeUInt32BE(length, 4);
  const kinds = [parts[0]?.[0] ?? 0, Number(head.version) << 4, head.exchange, head.flags];
  return Buffer.concat([head.initiator, head.responder, Buffer.from(kinds), numbers, ...bodies]);
}
