// The RADIUS server that charon asks about every login, by EAP-MSCHAPv2 or password. It listens on
// loopback, and responds only to senders with the secret.
import { randomBytes } from 'node:crypto';
import { createSocket, type RemoteInfo, type Socket } from 'node:dgram';
import { once } from 'node:events';
import type { Logger } from 'pino';
import { ownedByLog } from '../../../kit/src/owner.ts';
import type { Clock } from '../clock.ts';
import { challengeOf, endOf, readEap, successOf } from './eap.ts';
import { type ChapProof, type ChapResponse, proveChap } from './mschap.ts';
import {
  attributes,
  bytesOf,
  codes,
  eapAttributes,
  eapOf,
  framedAddress,
  keyAttribute,
  nameServerAttributes,
  passwordOf,
  type RadiusPacket,
  readRequest,
  textOf,
  writeResponse,
} from './radius_packet.ts';

/** A login as charon describes it. */
export interface LoginAttempt {
  /** As the client gave it. */
  login: string;
  /** The client's address. */
  source: string;
  /** The client's port, if charon asks. */
  source_port?: string | undefined;
  /** The dialled address: the exit. */
  exit_ip: string;
  /** The name of charon's connection. */
  connection: string;
  /** Whether the client has this password. */
  proves(password: string): boolean;
  /** The password itself, if the method reveals it. */
  password?: string;
  /** The client's address inside the tunnel, if it is assigned before the login. */
  address?: string;
}

export type Verdict =
  /** `address`: the client's, inside the tunnel. */
  { allowed: true; address: string } | { allowed: false; message: string };

export interface RadiusServerOptions {
  secret: string;
  /** The IPv4 name servers that clients get. */
  dns: readonly string[];
  evaluate: (attempt: LoginAttempt) => Promise<Verdict>;
  clock: Clock;
  log: Logger;
}

interface Accepted {
  proof: ChapProof;
  address: string;
}

/** An exchange that is under way. */
interface Exchange {
  challenge: Buffer;
  /** Set once the client has proved its password. */
  accepted?: Accepted;
  since: number;
}

/**
 * A loopback address of its own, so that the firewall can tell its ICMP errors from those of other
 * programs.
 */
export const radiusAddress = '127.18.12.1';
/** How long exchanges, and responses that may be repeated, are remembered. */
const rememberedSeconds = 30;
const maxExchanges = 10_000;

export class RadiusServer {
  readonly #options: RadiusServerOptions;
  #socket: Socket | undefined;
  /** By State. */
  readonly #exchanges = new Map<string, Exchange>();
  /** By request: the response, or the promise of it. */
  readonly #answered = new Map<string, { since: number; response: Promise<Buffer | undefined> }>();

  constructor(options: RadiusServerOptions) {
    this.#options = options;
  }

  /** Listens on this port, or another if it is in use; returns the port. Errors: none is free. */
  async listen(wanted: number): Promise<number> {
    const own = ownedByLog(this.#options.log);
    for (const port of [wanted, 0]) {
      const socket = createSocket('udp4');
      socket.bind(port, radiusAddress);
      try {
        await once(socket, 'listening');
      } catch {
        socket.close();
        continue;
      }
      socket.on(
        'error',
        own((error) => this.#options.log.warn({ err: error }, 'RADIUS failed')),
      );
      socket.on(
        'message',
        own((datagram, from) => this.#receive(datagram, from)),
      );
      this.#socket = socket;
      return socket.address().port;
    }
    throw new Error('no port of loopback is free for RADIUS');
  }

  close(): void {
    this.#socket?.close();
    this.#socket = undefined;
  }

  async #receive(datagram: Buffer, from: RemoteInfo): Promise<void> {
    const { secret, clock } = this.#options;
    const request = readRequest(datagram, secret);
    if (request?.code !== codes.access_request) return;
    const now = clock.steady();
    forgetOld(this.#answered, now);
    forgetOld(this.#exchanges, now);
    // RFC 5080, 2.2.2: if the response was lost, charon repeats the request with the same
    // identifier and authenticator.
    const name = `${from.port} ${request.identifier} ${request.authenticator.toString('hex')}`;
    const earlier = this.#answered.get(name);
    const response = earlier?.response ?? this.#respond(request);
    if (!earlier) this.#answered.set(name, { since: now, response });
    const bytes = await response;
    if (bytes) this.#socket?.send(bytes, from.port, from.address);
  }

  /** Undefined: the request is invalid, and gets no response. */
  async #respond(request: RadiusPacket): Promise<Buffer | undefined> {
    const eap = eapOf(request);
    return eap ? this.#respondEap(request, eap) : this.#respondPassword(request);
  }

  async #respondPassword(request: RadiusPacket): Promise<Buffer | undefined> {
    const { secret, evaluate } = this.#options;
    const password = passwordOf(request, secret);
    const attempt = attemptOf(request);
    if (password === undefined || !attempt) return undefined;
    const proves = (expected: string) => spellings(expected).includes(password);
    const verdict = await evaluate({ ...attempt, password, proves });
    return verdict.allowed
      ? writeResponse(request, codes.access_accept, this.#configure(verdict.address), secret)
      : this.#reject(request, verdict.message);
  }

  async #respondEap(request: RadiusPacket, packet: Buffer): Promise<Buffer | undefined> {
    const { secret, clock } = this.#options;
    const eap = readEap(packet);
    if (!eap) return this.#reject(request, 'the EAP packet is malformed', packet[1]);
    const next = (eap.identifier + 1) & 0xff;
    if (eap.kind === 'identity') {
      const { packet: challengePacket, challenge } = challengeOf(next);
      return this.#challenge(request, challengePacket, { challenge, since: clock.steady() });
    }
    if (eap.kind === 'nak') {
      return this.#reject(request, 'the client does not offer EAP-MSCHAPv2', eap.identifier);
    }
    const state = bytesOf(request, attributes.state)?.toString('hex') ?? '';
    const exchange = this.#exchanges.get(state);
    this.#exchanges.delete(state);
    if (!exchange) return this.#reject(request, 'the exchange is not known', eap.identifier);
    if (eap.kind === 'response') {
      const proven = await this.#prove(request, exchange, eap.response);
      // Without the message that the client may try another password, charon drops the attempt at
      // once.
      if ('message' in proven) return this.#reject(request, proven.message, eap.identifier);
      const success = successOf(next, proven.proof.authenticator);
      return this.#challenge(request, success, { ...exchange, accepted: proven });
    }
    if (!exchange.accepted) return this.#reject(request, 'out of turn', eap.identifier);
    const { proof, address } = exchange.accepted;
    const values = [
      ...eapAttributes(endOf('success', eap.identifier)),
      keyAttribute('receive', proof.receive_key, request, secret),
      keyAttribute('send', proof.send_key, request, secret),
      ...this.#configure(address),
    ];
    return writeResponse(request, codes.access_accept, values, secret);
  }

  async #prove(
    request: RadiusPacket,
    { challenge }: Exchange,
    response: Omit<ChapResponse, 'challenge'>,
  ): Promise<Accepted | { message: string }> {
    const attempt = attemptOf(request);
    if (!attempt) return { message: 'the request lacks an attribute' };
    let proof: ChapProof | undefined;
    const proves = (password: string) => {
      for (const spelling of spellings(password)) {
        proof ??= proveChap({ challenge, ...response }, spelling);
      }
      return proof !== undefined;
    };
    const verdict = await this.#options.evaluate({ ...attempt, proves });
    if (!verdict.allowed) return { message: verdict.message };
    if (!proof) throw new Error('a login was allowed without a proof');
    return { proof, address: verdict.address };
  }

  /** The tunnel's settings for charon. */
  #configure(address: string): RadiusPacket['attributes'] {
    return [framedAddress(address), ...nameServerAttributes(this.#options.dns)];
  }

  #challenge(request: RadiusPacket, eap: Buffer, exchange: Exchange): Buffer {
    const state = randomBytes(16);
    const [oldest] = this.#exchanges.keys();
    if (this.#exchanges.size >= maxExchanges && oldest) this.#exchanges.delete(oldest);
    this.#exchanges.set(state.toString('hex'), exchange);
    const values: RadiusPacket['attributes'] = [...eapAttributes(eap), [attributes.state, state]];
    return writeResponse(request, codes.access_challenge, values, this.#options.secret);
  }

  /** `identifier`: that of the EAP packet, if there was one. */
  #reject(request: RadiusPacket, message: string, identifier?: number): Buffer {
    const values: RadiusPacket['attributes'] = [
      [attributes.reply_message, Buffer.from(message)],
      ...(identifier === undefined ? [] : eapAttributes(endOf('failure', identifier))),
    ];
    return writeResponse(request, codes.access_reject, values, this.#options.secret);
  }
}

/** Undefined: the request lacks the user or the exit. */
function attemptOf(request: RadiusPacket): Omit<LoginAttempt, 'proves'> | undefined {
  const login = textOf(request, attributes.user_name);
  const [source, source_port] = stationOf(request, attributes.calling_station);
  const [exit_ip] = stationOf(request, attributes.called_station);
  const connection = textOf(request, attributes.nas_port_id) ?? '';
  if (login === undefined || source === undefined || exit_ip === undefined) return undefined;
  return { login, source, source_port, exit_ip, connection };
}

/** An address, and its port: `198.51.100.7[4500]`. */
function stationOf(request: RadiusPacket, attribute: number): string[] {
  return textOf(request, attribute)?.split(/[[\]]/) ?? [];
}

/** The spellings of a grouped password: people type it with or without the separators. */
export function spellings(password: string): string[] {
  return [password, password.replaceAll('-', '')];
}

function forgetOld(map: Map<string, { since: number }>, now: number): void {
  for (const [name, { since }] of map) {
    if (now - since < rememberedSeconds) return;
    map.delete(name);
  }
}
