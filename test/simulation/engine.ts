// The engine of the simulation: evaluates by a real replica of the policy, and carries connections
// that are only numbers.

import { isWanted } from '../../agent/src/connection_groups.ts';
import type { Finished, OpenConnection, Poll, Stored } from '../../agent/src/engine.ts';
import { decide } from '../../agent/src/policy/decide.ts';
import type { Decision, ProxyRequest, Rules } from '../../agent/src/policy/decision.ts';
import type { Reason } from '../../agent/src/policy/denials.ts';
import { decideLogin } from '../../agent/src/policy/logins.ts';
import { Sessions } from '../../agent/src/policy/sessions.ts';
import { Replica } from '../../agent/src/store/replica.ts';
import {
  type Elsewhere,
  type Holding,
  sumOfHoldings,
  UserCounts,
  withOthers,
} from '../../agent/src/user_counts.ts';
import type { Attempt } from '../../agent/test/oracle.ts';
import type { EndOrder, Position } from '../../kit/src/node_interface.ts';
import type { Random } from '../../server/test/random.ts';
import type { Owner, Scheduler, Trace } from './scheduler.ts';
import { type Conduct, SimulatedVpn } from './vpn.ts';

/** A request to a proxy, or a login to the VPN. */
export type Asked = ProxyRequest | Attempt;

export const isLogin = (request: Asked): request is Attempt => 'made' in request;

export interface Exchange {
  asked: Asked;
  service: string;
  account: number;
  user: number;
  /** The client's address. */
  address: string;
  exit_ip: string;
  /** When it began, and when it last carried a byte, in seconds of the simulation. */
  since: number;
  moved_at: number;
  up: number;
  down: number;
  /** The bytes that the meter got. */
  reported: { up: number; down: number };
}

export interface EngineOptions {
  owner: Owner;
  dir: string;
  rules: Rules;
  scheduler: Scheduler;
  random: Random;
  trace: Trace;
  /** None: it has no VPN. */
  conduct: Conduct | undefined;
  /** Hears that a connection of a user with limits would be one too many. */
  onExcess: (of: { account: number; user: number }, reason: Reason) => void;
  /** Hears of a connection that is ended because it is no longer allowed. */
  onRevoked: (exchange: Exchange, reason: Reason) => void;
}

/** Where the meter goes on, with a VPN. */
interface Cursors {
  proxy: unknown;
  vpn: unknown;
}

const slowestSeconds = 0.3;

export class SimulatedEngine {
  readonly #options: EngineOptions;
  readonly #vpn: SimulatedVpn | undefined;
  #replica: Replica | undefined;
  #sessions = new Sessions();
  /** The connections of users with limits, by the part that counts them. */
  #counts: Record<'proxy' | 'vpn', UserCounts> | undefined;
  /** When it was last started. */
  started_at = 0;
  readonly #exchanges = new Map<string, Exchange>();
  /** The same as people see them. */
  readonly #shown = new Map<string, OpenConnection>();
  #connections = 0;
  /**
   * Connections that are over, as a log on disk would list them; and the bytes that the meter got
   * before.
   */
  readonly #log: Array<Finished & Pick<Exchange, 'reported'>> = [];
  /** Lines of the log that the meter got. */
  #reportedLines = 0;
  /** Bytes by account and user. */
  readonly transferred = new Map<string, number>();
  /** Of them those that cannot be counted: they were never reported before the engine died. */
  readonly lost = new Map<string, number>();

  constructor(options: EngineOptions) {
    this.#options = options;
    const { conduct } = options;
    if (conduct) this.#vpn = new SimulatedVpn({ ...options, conduct });
  }

  get isUp(): boolean {
    return this.#replica !== undefined;
  }
  get policy() {
    return this.#replica?.policy;
  }
  get position(): Position | undefined {
    return this.#replica?.position;
  }
  get exchanges(): ReadonlyMap<string, Exchange> {
    return this.#vpn ? new Map([...this.#exchanges, ...this.#vpn.open]) : this.#exchanges;
  }
  /** Whether it knows the sessions of the VPN that an engine before let in. */
  get hasTakenOver(): boolean {
    return this.#vpn?.hasTakenOver === true;
  }

  async start(): Promise<void> {
    const replica = new Replica(this.#options.dir);
    this.#replica = replica;
    await replica.load();
    const policy = () => replica.policy;
    this.#counts = { proxy: new UserCounts(policy), vpn: new UserCounts(policy) };
    this.started_at = this.#options.scheduler.time;
    this.#vpn?.start(policy, this.#counts.vpn);
  }

  /** Ends at once. `withLog`: the machine goes with it, and what nobody read of the log. */
  die({ withLog = false } = {}): void {
    this.#replica?.close();
    this.#replica = undefined;
    this.#counts = undefined;
    this.#sessions = new Sessions();
    const unread = withLog ? this.#log.splice(this.#reportedLines) : [];
    const sessions = this.#vpn?.die({ withMachine: withLog }) ?? [];
    const untold = [...this.#exchanges.values(), ...unread, ...sessions];
    for (const { account, user, up, down, reported } of untold) {
      this.#add(this.lost, account, user, up + down - reported.up - reported.down);
    }
    this.#exchanges.clear();
    this.#shown.clear();
  }

  /** Those of the proxies that are open now. */
  connections(): OpenConnection[] {
    return Array.from(this.#shown.values(), (connection) => ({ ...connection }));
  }

  /** The connections and addresses of users with limits here. */
  held(): Holding[] {
    if (!this.#counts) return [];
    const { proxy, vpn } = this.#counts;
    for (const [connection, { moved_at }] of this.#exchanges) {
      proxy.moved(connection, Math.floor(moved_at));
    }
    const now = this.#options.scheduler.now();
    return sumOfHoldings([...proxy.held(now), ...vpn.held(now)]);
  }

  /** Notes those elsewhere; for each part the other one is elsewhere, too. */
  share(elsewhere: readonly Elsewhere[]): void {
    if (!this.#counts) return;
    const { proxy, vpn } = this.#counts;
    const now = this.#options.scheduler.now();
    const [ofProxy, ofVpn] = [proxy.held(now), vpn.held(now)];
    proxy.share(withOthers(elsewhere, [], ofVpn));
    vpn.share(withOthers(elsewhere, ofProxy, []));
  }

  /** Ends the connections that an order names. Errors: the engine is not there, or dies. */
  async end(order: EndOrder): Promise<number> {
    if (!this.#replica) throw new Error('the engine is not there');
    const named = [...this.#exchanges].filter(([, exchange]) => isWanted(order, exchange));
    for (const [connection] of named) this.finish(connection);
    return named.length + ((await this.#vpn?.end(order)) ?? 0);
  }

  // ---- What the agent asks ------------------------------------------------------------------

  /** Takes a while, as workers do. */
  catchUp(answer: (error: Error | undefined, position: Position | undefined) => void): void {
    const { scheduler, random, owner, trace } = this.#options;
    scheduler.after(
      0.001 + random.next() * slowestSeconds,
      () => {
        if (!this.#replica) {
          answer(new Error('a worker does not answer'), undefined);
          return;
        }
        this.#apply(this.#replica).then(
          (position) => {
            trace.note('applied', `${owner.name} ${position?.revision}`);
            answer(undefined, position);
          },
          (error: Error) => answer(error, undefined),
        );
      },
      owner,
    );
  }

  async #apply(replica: Replica): Promise<Position | undefined> {
    const touched = await replica.catchUp();
    const accounts = touched === 'all' ? undefined : touched;
    // Connections count from the moment that their user has a limit.
    for (const [connection, authority] of this.#sessions.all()) {
      const { address } = this.#exchanges.get(connection) ?? {};
      this.#counts?.proxy.admit(connection, address, authority, undefined);
    }
    this.#close(accounts);
    await this.#vpn?.closeRevoked(accounts);
    return replica.position;
  }

  /** `isHeard`: whether the one who asks is there when the response comes. */
  async poll(cursor: unknown, stored: Stored, isHeard: () => boolean): Promise<Poll> {
    if (!this.#vpn) return this.#pollProxies(cursor);
    const cursors = cursorsOf(cursor);
    const { counted } = stored;
    const vpn = await this.#vpn.poll(cursors.vpn, {
      cursor: cursorsOf(stored.cursor).vpn,
      counted,
    });
    if (!isHeard()) throw new Error('the agent has died');
    const proxy = this.#pollProxies(cursors.proxy);
    this.#vpn.noteReported(vpn);
    return {
      finished: [...proxy.finished, ...vpn.finished],
      open: [...proxy.open, ...vpn.open],
      cursor: { proxy: proxy.cursor, vpn: vpn.cursor } satisfies Cursors,
    };
  }

  #pollProxies(cursor: unknown): Poll {
    if (!this.#replica) throw new Error('the engine is not there');
    const reportedLines = Number(cursor ?? 0);
    this.#reportedLines = this.#log.length;
    const open = Array.from(this.#exchanges, ([connection, exchange]) => {
      const { account, user, up, down } = exchange;
      exchange.reported = { up, down };
      return { connection, account, user, up, down };
    });
    const finished = this.#log.slice(reportedLines).map(({ reported: _, ...finished }) => finished);
    return { finished, open, cursor: this.#log.length };
  }

  /** The bytes that the meter got, to be put back when it forgot them. */
  rememberReported(): () => void {
    const before = this.#reportedLines;
    const exchanges = Array.from(this.#exchanges.values(), (exchange) => ({
      one: exchange,
      reported: exchange.reported,
    }));
    const forget = this.#vpn?.rememberReported();
    return () => {
      forget?.();
      this.#reportedLines = before;
      for (const { one: exchange, reported } of exchanges) exchange.reported = reported;
    };
  }

  // ---- What clients do ----------------------------------------------------------------------

  evaluate(request: ProxyRequest): Decision | undefined {
    const { rules, scheduler } = this.#options;
    if (!this.#replica) return undefined;
    return decide(this.#replica.policy, rules, request, scheduler.now());
  }

  /** Of a client with this password. */
  evaluateLogin({ service, exit_ip }: Attempt, login: string, password: string) {
    const { rules, scheduler } = this.#options;
    if (!this.#replica) return undefined;
    const proves = (candidate: string) => candidate === password;
    const request = { kind: 'login' as const, service, login, exit_ip, proves };
    return decideLogin(this.#replica.policy, rules, request, scheduler.now());
  }

  /** The client of a login that was decided so. */
  login(request: Attempt, verdict: Decision, source: string): void {
    if (verdict.verdict === 'allow') this.#vpn?.login(request, verdict, source);
  }

  /**
   * Opens a connection, or begins another request on one that is open; one too many is refused, and
   * its client leaves. Returns whether it was let in.
   */
  open(request: ProxyRequest, verdict: Decision, connection = this.#newName()): boolean {
    if (verdict.verdict !== 'allow' || verdict.authority.by === 'probe') return false;
    const { authority, exit_ip } = verdict;
    const { account, user } = authority;
    const { source: address } = request;
    const { time, now } = {
      time: this.#options.scheduler.time,
      now: this.#options.scheduler.now(),
    };
    const reason = this.#counts?.proxy.objectionTo(address, authority, now, connection);
    if (reason) {
      this.finish(connection);
      this.#options.onExcess(authority, reason);
      return false;
    }
    this.#end(connection);
    this.#sessions.open(connection, authority);
    this.#counts?.proxy.admit(connection, address, authority, now);
    this.#shown.set(connection, {
      ...{ service: 'proxy', authority, address, exit_ip },
      ...{ since: now, last_byte_at: now, up: 0, down: 0 },
    });
    const names = { service: 'proxy', account, user, address, exit_ip };
    const bytes = { up: 0, down: 0, reported: { up: 0, down: 0 } };
    this.#exchanges.set(connection, {
      ...{ asked: request, ...names, since: time, moved_at: time, ...bytes },
    });
    return true;
  }

  transfer(connection: string, up: number, down: number): void {
    const exchange = this.#exchanges.get(connection);
    if (exchange) {
      exchange.up += up;
      exchange.down += down;
      exchange.moved_at = this.#options.scheduler.time;
    }
    const shown = this.#shown.get(connection);
    if (shown) {
      shown.up += up;
      shown.down += down;
      shown.last_byte_at = this.#options.scheduler.now();
    }
    const passed = exchange ?? this.#vpn?.transfer(connection, up, down);
    if (passed) this.#add(this.transferred, passed.account, passed.user, up + down);
  }

  /** The connection is over. */
  finish(connection: string): void {
    this.#counts?.proxy.close(connection);
    this.#end(connection);
  }

  /** The request is over; the connection too, unless another one begins. */
  #end(connection: string): void {
    const exchange = this.#exchanges.get(connection);
    if (!exchange) {
      this.#vpn?.leave(connection);
      return;
    }
    const { account, user, up, down, reported } = exchange;
    const at = this.#options.scheduler.now();
    this.#exchanges.delete(connection);
    this.#sessions.close(connection);
    this.#shown.delete(connection);
    this.#log.push({ connection, account, user, up, down, at, reported });
  }

  /** As every engine does each second: time ends what no event ends. */
  sweep(): void {
    this.#close(undefined);
    this.#vpn?.sweep();
  }

  #close(accounts: Iterable<number> | undefined): void {
    const { rules, scheduler, owner, trace, onRevoked } = this.#options;
    if (!this.#replica) return;
    const now = scheduler.now();
    const revoked = [
      ...this.#sessions.revoked(this.#replica.policy, rules, now, accounts),
      ...(this.#counts?.proxy.excess(now) ?? []),
    ];
    for (const { connection, reason } of revoked) {
      trace.note('closed', `${owner.name} ${connection} ${reason}`);
      const exchange = this.#exchanges.get(connection);
      if (exchange) onRevoked(exchange, reason);
      this.finish(connection);
    }
  }

  #newName(): string {
    this.#connections += 1;
    return `c${this.#connections}`;
  }

  #add(to: Map<string, number>, account: number, user: number, bytes: number): void {
    const key = `${account} ${user}`;
    to.set(key, (to.get(key) ?? 0) + bytes);
  }
}

function cursorsOf(cursor: unknown): Cursors {
  return (cursor ?? { proxy: undefined, vpn: undefined }) as Cursors;
}
