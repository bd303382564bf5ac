// Answers the challenges of a certificate authority, on existing listeners or on one for the check.
import { generateKeyPairSync } from 'node:crypto';
import type { Server, Socket } from 'node:net';
import {
  createSecureContext,
  createServer as createTlsServer,
  type SecureContext,
  type TLSSocket,
} from 'node:tls';
import { shareConnections, smallListener } from '../client_networks.ts';
import { whyNotListening } from '../listening.ts';
import { createServer as createHttpServer } from '../node_http.ts';
import { AcmeError } from './problems.ts';
import type { Challenge } from './protocol.ts';
import { selfSigned } from './x509.ts';

export interface ListenAt {
  /** Undefined: all addresses of the machine. */
  host: string | undefined;
  port: number;
}

/** The hello of a client; it may name no server. */
export interface AlpnOffer {
  servername?: unknown;
  protocols: string[];
}

/** The protocol that a certificate authority offers by ALPN when it checks (RFC 8737). */
const acmeProtocol = 'acme-tls/1';
const daySeconds = 86_400;

export class Answers {
  readonly #at: ListenAt | undefined;
  /** Epoch seconds. */
  readonly #now: () => number;
  /** By name. */
  readonly #contexts = new Map<string, SecureContext>();
  /** By token. */
  readonly #texts = new Map<string, string>();

  /** `at`: a listener for checks, which http-01 needs. Without it, others call `chooseProtocol`. */
  constructor(at: ListenAt | undefined, now: () => number) {
    this.#at = at;
    this.#now = now;
  }

  /**
   * Runs an action while a challenge is answered.
   * Errors: an AcmeError when it cannot listen; those of the action.
   */
  async during(challenge: Challenge, action: () => Promise<void>): Promise<void> {
    const { type, name, token, key_authorization } = challenge;
    if (type === 'http-01') this.#texts.set(token, key_authorization);
    else this.#contexts.set(name, this.#contextOf(name, key_authorization));
    try {
      const close = this.#at && (await this.#open(type, this.#at));
      try {
        await action();
      } finally {
        close?.();
      }
    } finally {
      this.#texts.delete(token);
      this.#contexts.delete(name);
    }
  }

  /**
   * An ALPNCallback: a certificate authority that checks gets the certificate of its challenge, and
   * all other clients continue with HTTP/1.1. Undefined ends the connection.
   */
  chooseProtocol(socket: TLSSocket, { servername, protocols }: AlpnOffer): string | undefined {
    if (!protocols.includes(acmeProtocol)) return protocols.find((name) => name === 'http/1.1');
    // An exception here would end the process on Node 24.12 and older.
    const context = this.#contexts.get(String(servername).toLowerCase());
    if (!context) return undefined;
    socket.setKeyCert(context);
    return acmeProtocol;
  }

  #contextOf(name: string, key_authorization: string): SecureContext {
    const keys = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const now = this.#now();
    const times = { not_before: now - daySeconds, not_after: now + daySeconds };
    const cert = selfSigned({ names: [name], keys, ...times, key_authorization });
    const key = keys.privateKey.export({ format: 'pem', type: 'pkcs8' });
    return createSecureContext({ cert, key });
  }

  /** Listens, and returns the function that stops it. */
  async #open(type: Challenge['type'], { host, port }: ListenAt): Promise<() => void> {
    const server = type === 'http-01' ? this.#httpServer() : this.#tlsServer();
    const sockets = new Set<Socket>();
    shareConnections(server);
    server.on('connection', (socket: Socket) => {
      sockets.add(socket);
      socket.on('close', () => sockets.delete(socket));
    });
    await new Promise<void>((resolve, reject) => {
      server.on('error', (error: NodeJS.ErrnoException) => reject(listenFault(error, port)));
      server.listen(port, host, () => resolve());
    });
    return () => {
      server.close();
      for (const socket of sockets) socket.destroy();
    };
  }

  #httpServer(): Server {
    return createHttpServer(smallListener, ({ method, url = '' }, response) => {
      const [, token = ''] = /^\/\.well-known\/acme-challenge\/([\w-]+)$/.exec(url) ?? [];
      const text = method === 'GET' ? this.#texts.get(token) : undefined;
      response.setHeader('connection', 'close');
      if (text === undefined) response.writeHead(404).end();
      else response.writeHead(200, { 'content-type': 'application/octet-stream' }).end(text);
    });
  }

  #tlsServer(): Server {
    const { chooseProtocol } = this;
    const choose = chooseProtocol.bind(this);
    const server = createTlsServer(
      {
        handshakeTimeout: smallListener.requestTimeout,
        ALPNCallback(this: TLSSocket, offer: AlpnOffer) {
          const chosen = choose(this, offer);
          return chosen === acmeProtocol ? chosen : undefined;
        },
      },
      (socket) => socket.destroy(),
    );
    // A failed handshake matters only to its client; Node leaves the connection of a late one open.
    return server.on('tlsClientError', (_, socket) => socket.destroy());
  }
}

function listenFault(error: NodeJS.ErrnoException, port: number): AcmeError {
  return new AcmeError(
    'listener',
    `The check of the certificate authority cannot be answered on TCP port ${port}: ${whyNotListening(error)}.`,
  );
}
