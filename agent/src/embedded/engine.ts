// The embedded engine: proxies in the agent's own process. It needs no root and no other program.
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { TLSSocket } from 'node:tls';
import { canonicalAddress } from '../../../kit/src/address.ts';
import type { EndOrder, Position } from '../../../kit/src/node_interface.ts';
import { ownedByConnection } from '../../../kit/src/owner.ts';
import { SerialQueue } from '../../../kit/src/serial_queue.ts';
import { ownAddresses } from '../address.ts';
import { every } from '../clock.ts';
import type { Config } from '../config.ts';
import { connectionCaps } from '../connection_caps.ts';
import { isWanted } from '../connection_groups.ts';
import type {
  Engine,
  EngineCounts,
  EngineOptions,
  Explanation,
  OpenConnection,
  Poll,
} from '../engine.ts';
import type { OpenUse } from '../exit_use.ts';
import { explainDestination, type ResolvedName } from '../explain_destination.ts';
import type { Failure } from '../failures.ts';
import type { Fault } from '../faults.ts';
import { readOutgoingPorts } from '../outgoing_ports.ts';
import { decideWithin, isDrained } from '../policy/decide.ts';
import type { Authority, Question } from '../policy/decision.ts';
import { DecisionTally } from '../policy/decision_tally.ts';
import { mayReach } from '../policy/destination.ts';
import { type LastUsed, LastUsedTimes } from '../policy/last_used.ts';
import type { Listener } from '../policy/policy.ts';
import { type Refusal, Refusals } from '../policy/refusals.ts';
import { Sessions } from '../policy/sessions.ts';
import { Resolver } from '../resolver.ts';
import { Replica, type Touched } from '../store/replica.ts';
import { type Elsewhere, type Holding, UserCounts } from '../user_counts.ts';
import { Accepted } from './accepted.ts';
import { type Context, rejectionOf } from './admit.ts';
import { Connections } from './connections.ts';
import { forward } from './forward.ts';
import { Listeners } from './listeners.ts';
import { rejectRaw } from './rejections.ts';
import { tunnel } from './tunnel.ts';

export interface EmbeddedOptions extends EngineOptions {
  /**
   * How long a client may take for TLS, for its first request, and for the next; shorter in tests.
   */
  handshake_ms?: number;
  first_request_ms?: number;
  next_request_ms?: number;
}

const patience = { handshake_ms: 20_000, first_request_ms: 20_000, next_request_ms: 60_000 };

/** A turn of the event loop ends this many connections, since other work waits meanwhile. */
const endedTogether = 500;
/** How often expiries are checked. */
const evaluateSeconds = 1;
/** How often failed ports, and the machine's addresses, name servers and ports are checked. */
const retrySeconds = 5;

/**
 * Starts the engine with the policy on disk. Without a policy it listens nowhere until `catchUp`
 * finds one. The next `catchUp` retries failures, and reports them.
 */
export async function startEmbedded(options: EmbeddedOptions): Promise<Engine> {
  const engine = new EmbeddedEngine(options);
  await engine.catchUp().catch((error) => {
    options.log.error({ err: error }, 'the policy on disk cannot be put in force yet');
  });
  engine.run();
  return engine;
}

/** Errors that keep the server from reading a request. */
const unparsed: Record<string, Failure> = {
  HPE_HEADER_OVERFLOW: 'long_header',
  // The target has a space: no version follows its first word.
  HPE_INVALID_CONSTANT: 'bad_target',
  HPE_INVALID_TRANSFER_ENCODING: 'unsupported',
  HPE_INVALID_URL: 'bad_target',
  ERR_HTTP_REQUEST_TIMEOUT: 'slow_request',
};

/** A request that cannot be read; `bytes` are those in which it became clear. */
function failureOf(code: string, bytes: Buffer | undefined): Failure {
  // An HTTP request with an unknown method; TLS, or other bytes, do not match.
  const hasMethod = code === 'HPE_INVALID_METHOD' && /^[\w!#$%&'*+.^`|~-]+ /.test(`${bytes}`);
  return hasMethod ? 'unsupported' : (unparsed[code] ?? 'bad_request');
}

class EmbeddedEngine implements Engine {
  readonly name = 'embedded';
  readonly #ctx: Context;
  readonly #listeners: Listeners;
  readonly #onRevoke: Config['on_revoke'];
  readonly #stopping = new AbortController();
  readonly #queue = new SerialQueue();

  constructor(options: EmbeddedOptions) {
    const { config, rules, dir, unstored, clock, log } = options;
    const { handshake_ms, first_request_ms, next_request_ms } = { ...patience, ...options };
    const replica = new Replica(dir, unstored);
    const users = new UserCounts(() => replica.policy);
    this.#ctx = {
      replica,
      users,
      rules: { ...rules, own_addresses: ownAddresses() },
      clock,
      log,
      resolver: new Resolver(config.dns_servers, clock),
      outgoing_ports: readOutgoingPorts(),
      sessions: new Sessions(),
      uses: new LastUsedTimes(),
      refusals: new Refusals(),
      decisions: new DecisionTally(),
      connections: new Connections(clock, log, config.connection_log.mode !== 'off'),
      accepted: new Accepted(connectionCaps(config.caps), users),
      idle_seconds: config.idle_seconds,
    };
    this.#onRevoke = config.on_revoke;
    this.#listeners = new Listeners(
      { ...config, handshake_ms, first_request_ms, next_request_ms },
      (server, port, tls) => this.#equip(server, port, tls),
      clock,
      log,
    );
  }

  /** Looks at intervals: no event reports that an expiry passes, or that a port becomes free. */
  run(): void {
    const { clock, log } = this.#ctx;
    const { signal } = this.#stopping;
    const lookAfter = (seconds: number, work: () => unknown) =>
      every(clock, seconds, signal, async () => {
        try {
          await work();
        } catch (error) {
          // An error of the machine, such as no free descriptor: the next time may succeed.
          log.error({ err: error }, 'the engine could not look after its connections and ports');
        }
      });
    void lookAfter(evaluateSeconds, () => this.#closeRevoked());
    void lookAfter(retrySeconds, () => {
      const { rules } = this.#ctx;
      this.#ctx.rules = { ...rules, own_addresses: ownAddresses(rules.own_addresses) };
      this.#ctx.resolver.followMachine();
      this.#ctx.outgoing_ports = readOutgoingPorts();
      return this.#listen();
    });
  }

  async catchUp(): Promise<Position | undefined> {
    const { replica } = this.#ctx;
    const touched = await replica.catchUp();
    this.#followLimits(touched);
    this.#closeRevoked(touched === 'all' ? undefined : touched);
    await this.#listen();
    return replica.position;
  }

  async poll(cursor: unknown): Promise<Poll> {
    return this.#ctx.connections.poll(cursor);
  }

  *connections(): Generator<OpenConnection> {
    for (const [, connection] of this.#open()) yield connection;
  }

  /** By name. */
  *#open(): Generator<[name: string, OpenConnection]> {
    const { sessions, connections, clock } = this.#ctx;
    const now = clock.now();
    for (const [name, authority] of sessions.all()) {
      const connection = connections.named(name);
      if (authority.by === 'probe' || connection?.exit_ip === undefined) continue;
      const { socket, exit_ip, since } = connection;
      const address = canonicalAddress(socket.remoteAddress ?? '');
      if (address === undefined) continue;
      const service = socket instanceof TLSSocket ? 'proxy-https' : 'proxy';
      const facts = { service, authority, address, exit_ip, since };
      yield [name, { ...facts, ...connection.look(now) }];
    }
  }

  usesUnderWay(): Iterable<OpenUse> {
    return this.#ctx.connections.uses();
  }

  takeEndedUses(): ReturnType<Engine['takeEndedUses']> {
    return this.#ctx.connections.ended.take();
  }

  async end(order: EndOrder): Promise<number> {
    const named = Array.from(this.#open()).filter(([, { authority, ...of }]) =>
      isWanted(order, { ...of, ...authority }),
    );
    for (const [at, [name]] of named.entries()) {
      if (at % endedTogether === endedTogether - 1) await setImmediate();
      this.#ctx.connections.close(name);
    }
    return named.length;
  }

  async takeLastUsed(): Promise<LastUsed[]> {
    return this.#ctx.uses.take();
  }

  held(): Holding[] {
    const { accepted, users, clock } = this.#ctx;
    const now = clock.now();
    accepted.look(now);
    return users.held(now);
  }

  share(elsewhere: readonly Elsewhere[]): void {
    this.#ctx.users.share(elsewhere);
  }

  takeRefusals(): Refusal[] {
    return this.#ctx.refusals.take();
  }

  /** Errors: there is no policy. */
  explain(question: Question): Promise<Explanation> {
    const { replica, rules, clock, resolver, accepted } = this.#ctx;
    const explain = async () => {
      const { policy, position } = replica;
      if (!position) throw new Error('This node has no policy yet.');
      const now = clock.now();
      const objectionTo = (source: string, authority: Authority) =>
        accepted.objectionTo(source, authority, now);
      return { decision: decideWithin(objectionTo, policy, rules, question, now), position };
    };
    const mayBe = (address: string) => mayReach(replica.policy, rules, address);
    const judge = (name: ResolvedName) => rejectionOf(name, mayBe);
    return explainDestination(question, explain, { resolver, clock, judge });
  }

  listeners(): ReadonlyMap<number, Listener> {
    return this.#ctx.replica.policy.listeners;
  }

  isDrained(): boolean {
    return isDrained(this.#ctx.replica.policy, this.#ctx.rules);
  }

  counts(): EngineCounts {
    const { decisions, connections, replica } = this.#ctx;
    return {
      decisions: decisions.counts,
      open_connections: connections.byPort(),
      policy: replica.position && replica.policy.size,
      squids: [],
      deciders: undefined,
    };
  }

  faults(): Fault[] {
    return this.#listeners.faults();
  }

  /** Closes every connection. Their bytes can still be polled. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#queue.run(() => this.#listeners.closeAll());
    this.#ctx.replica.close();
  }

  #listen(): Promise<void> {
    return this.#queue.run(async () => {
      if (this.#stopping.signal.aborted) return;
      await this.#listeners.follow(this.#ctx.replica.policy.listeners);
    });
  }

  #closeRevoked(accounts?: Iterable<number>): void {
    if (this.#onRevoke === 'leave') return;
    const { sessions, connections, accepted, replica, rules, clock, log } = this.#ctx;
    const revoked = [...sessions.revoked(replica.policy, rules, clock.now(), accounts)];
    for (const { connection, reason } of revoked) {
      log.info({ connection, reason }, 'a connection was ended');
      connections.close(connection);
    }
    for (const { connection, reason } of accepted.excess(clock.now())) {
      log.info({ connection: connection.name, reason }, 'a connection was ended');
      connection.socket.destroy();
    }
  }

  /** Connections count from the moment that their user has a limit. */
  #followLimits(touched: Touched): void {
    const { sessions, connections, accepted } = this.#ctx;
    const changed = touched === 'all' ? sessions.all() : sessions.of(touched);
    for (const [name, authority] of changed) {
      const connection = connections.named(name);
      if (connection) accepted.follow(connection, authority);
    }
  }

  #equip(server: Server, port: number, tls: boolean): void {
    const ctx = this.#ctx;
    const own = (client: Socket, work: () => unknown) => ownedByConnection(ctx.log, client)(work)();
    server.on('connection', (client: Socket) =>
      own(client, () => ctx.accepted.accept(client, ownedByConnection(ctx.log, client))),
    );
    server.on(tls ? 'secureConnection' : 'connection', (client: Socket) =>
      own(client, () => {
        ctx.connections.add(client, port, ({ name }) => ctx.sessions.close(name));
      }),
    );
    for (const event of ['request', 'checkContinue', 'checkExpectation']) {
      server.on(event, (request, response) =>
        own(request.socket, () => forward(ctx, request, response)),
      );
    }
    server.on('connect', (request, client: Socket, head) =>
      own(client, () => tunnel(ctx, request, client, head)),
    );
    server.on('clientError', (error, client: Socket) =>
      own(client, () => this.#rejectUnread(error, client)),
    );
  }

  /** Rejects a request that cannot be read, and discards the bytes that still arrive. */
  #rejectUnread(
    { code = '', rawPacket }: NodeJS.ErrnoException & { rawPacket?: Buffer },
    client: Socket,
  ): void {
    const connection = this.#ctx.connections.find(client);
    if (connection && client.writableEnded) return;
    // `forward` already has this request, and rejects it for the same reason.
    if (connection?.isBusy && code === 'HPE_INVALID_TRANSFER_ENCODING') return;
    // No response is possible before TLS is negotiated, nor in the middle of another response.
    if (!connection || connection.isBusy || !client.writable) client.destroy();
    else rejectRaw(client, failureOf(code, rawPacket));
  }
}
