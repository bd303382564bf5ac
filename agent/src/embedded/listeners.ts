// The ports of the policy, opened and closed one by one as the policy changes, and the certificate
// of the TLS ports.
import type { Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { Socket } from 'node:net';
import type { Logger } from 'pino';
import { createServer } from '../../../kit/src/node_http.ts';
import { Certificate } from '../certificate.ts';
import type { Clock } from '../clock.ts';
import type { Config } from '../config.ts';
import { longestHeaderBytes } from '../failures.ts';
import type { Fault } from '../faults.ts';
import type { Listener } from '../policy/policy.ts';

const options = {
  noDelay: true,
  // There is no time limit for a body.
  requestTimeout: 0,
  connectionsCheckingInterval: 5000,
  // The request line names the destination.
  requireHostHeader: false,
  maxHeaderSize: longestHeaderBytes,
};

interface Settings extends Config {
  handshake_ms: number;
  /** Until all of its headers have arrived, from the first byte. */
  first_request_ms: number;
  next_request_ms: number;
}

/** Gives a new server its request handlers; `port` is that of the port scheme. */
export type Equip = (server: Server, port: number, tls: boolean) => void;

interface Running {
  server: Server;
  tls: boolean;
  sockets: Set<Socket>;
}

export class Listeners {
  readonly #config: Settings;
  readonly #equip: Equip;
  readonly #log: Logger;
  readonly #certificate: Certificate;
  /** By port of the port scheme. */
  readonly #running = new Map<number, Running>();
  #faults: Fault[] = [];

  constructor(config: Settings, equip: Equip, clock: Clock, log: Logger) {
    this.#config = config;
    this.#equip = equip;
    this.#log = log;
    this.#certificate = new Certificate(config, () => clock.now());
  }

  /** Faults because of which ports do not open, and clients cannot connect. */
  faults(): Fault[] {
    return [...this.#faults, ...this.#certificate.faults()];
  }

  /**
   * Listens on exactly these ports. Those that fail are reported by `faults`. Ports that stay, and
   * their connections, are not touched. One call at a time.
   */
  async follow(wanted: ReadonlyMap<number, Listener>): Promise<void> {
    const faults: Fault[] = [];
    await this.#renewCertificate();
    for (const [port, { tls }] of this.#running) {
      if (wanted.get(port)?.tls !== tls) await this.#close(port);
    }
    const withoutCertificate: number[] = [];
    for (const listener of wanted.values()) {
      if (this.#running.has(listener.port)) continue;
      if (listener.tls && !this.#certificate.current) {
        withoutCertificate.push(listener.port);
        continue;
      }
      try {
        await this.#open(listener);
      } catch (error) {
        faults.push(this.#faultOf(listener, error as NodeJS.ErrnoException));
      }
    }
    const { fault } = this.#certificate;
    if (withoutCertificate.length > 0) {
      const message = `There is no certificate for the TLS ports ${withoutCertificate.join(', ')}: ${fault}`;
      faults.push({ kind: 'certificate', message });
    } else if (fault && [...wanted.values()].some(({ tls }) => tls)) {
      faults.push({
        kind: 'certificate',
        message: `The previous certificate stays in use: ${fault}`,
      });
    }
    const earlier = new Set(this.#faults.map(({ message }) => message));
    for (const { message } of faults) if (!earlier.has(message)) this.#log.error(message);
    this.#faults = faults;
  }

  /** Closes every port and connection. */
  async closeAll(): Promise<void> {
    await Promise.all([...this.#running.keys()].map((port) => this.#close(port)));
  }

  async #renewCertificate(): Promise<void> {
    if (!(await this.#certificate.renew())) return;
    for (const { server } of this.#running.values()) {
      // Open connections continue with the old certificate.
      if ('setSecureContext' in server) {
        (server as ReturnType<typeof createTlsServer>).setSecureContext(
          this.#certificate.current ?? {},
        );
      }
    }
    this.#log.info('the certificate was loaded');
  }

  async #open({ port, tls }: Listener): Promise<void> {
    const { port_shift, handshake_ms, first_request_ms, next_request_ms } = this.#config;
    const actual = port + port_shift;
    const timed = {
      ...options,
      headersTimeout: first_request_ms,
      keepAliveTimeout: next_request_ms,
    };
    const server = tls
      ? createTlsServer({ ...timed, ...this.#certificate.current, handshakeTimeout: handshake_ms })
      : createServer(timed);
    // By default Node silently drops headers after the 2,000th.
    server.maxHeadersCount = 0;
    const sockets = new Set<Socket>();
    const note = (socket: Socket) => {
      sockets.add(socket);
      socket.once('close', () => sockets.delete(socket));
    };
    const keepOpen = (socket: Socket) => {
      socket.allowHalfOpen = true;
    };
    server.on('connection', note).on('secureConnection', note);
    // A client that ends its side before the handshake is gone, so its place is free at once.
    server.on('secureConnection', keepOpen);
    this.#equip(server, port, tls);
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(actual, this.#config.listen_host, () => {
        server.off('error', reject);
        // A later error concerns a single connection that could not be accepted.
        server.on('error', (error) =>
          this.#log.error({ err: error, port }, 'a connection could not be accepted'),
        );
        resolve();
      });
    });
    this.#running.set(port, { server, tls, sockets });
  }

  async #close(port: number): Promise<void> {
    const running = this.#running.get(port);
    if (!running) return;
    this.#running.delete(port);
    running.server.close();
    const closed = Array.from(
      running.sockets,
      (socket) => new Promise((resolve) => socket.once('close', resolve)),
    );
    for (const socket of running.sockets) socket.destroy();
    await Promise.all(closed);
  }

  #faultOf({ port, exit_ip, scheme }: Listener, error: NodeJS.ErrnoException): Fault {
    const actual = port + this.#config.port_shift;
    const why =
      error.code === 'EADDRINUSE'
        ? 'another program uses it'
        : error.code === 'ERR_SOCKET_BAD_PORT'
          ? 'there is no such port (EXITWARD_AGENT_PORT_SHIFT)'
          : error.message;
    const message = `Port ${actual}, for exit ${exit_ip} by port scheme ${scheme}, cannot be listened on: ${why}.`;
    return { kind: 'port', subject: String(actual), message };
  }
}
