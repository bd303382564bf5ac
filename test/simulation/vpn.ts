// The VPN of a simulated machine: the agent's own sessions over a kernel that is only numbers.
// Kernel and tunnels outlive the engine.

import type { Poll, Stored } from '../../agent/src/engine.ts';
import type { Allowed, Rules } from '../../agent/src/policy/decision.ts';
import type { Reason } from '../../agent/src/policy/denials.ts';
import type { Policy } from '../../agent/src/policy/policy.ts';
import type { Revoked } from '../../agent/src/policy/sessions.ts';
import type { UserCounts } from '../../agent/src/user_counts.ts';
import { rangeOf } from '../../agent/src/vpn/pool.ts';
import { type Tunnel, VpnSessions } from '../../agent/src/vpn/sessions.ts';
import { FakeKernel } from '../../agent/test/fake_kernel.ts';
import type { Attempt } from '../../agent/test/oracle.ts';
import { parseNetworks } from '../../kit/src/address.ts';
import type { EndOrder } from '../../kit/src/node_interface.ts';
import type { VpnService } from '../../kit/src/vpn_password.ts';
import type { Random } from '../../server/test/random.ts';
import type { Exchange } from './engine.ts';
import type { Owner, Scheduler, Trace } from './scheduler.ts';

/** Those with a fault show that the simulation finds it. */
export type Conduct =
  | 'sound'
  | 'keeps-tunnels'
  | 'tells-again'
  | 'repeats-answers'
  | 'hides-holdings'
  | 'endless-lease'
  | 'repeats-orders';

export interface VpnOptions {
  owner: Owner;
  rules: Rules;
  scheduler: Scheduler;
  random: Random;
  trace: Trace;
  conduct: Conduct;
  onExcess: (of: { account: number; user: number }, reason: Reason) => void;
  /** Hears of a connection that is ended because it is no longer allowed. */
  onRevoked: (exchange: Exchange, reason: Reason) => void;
}

interface Session extends Exchange {
  /** Its address in the tunnel. */
  inside: string;
}

const slowestSeconds = 0.1;
/** So few addresses that they come again. */
const pool = rangeOf(parseNetworks('100.80.0.0/27')[0] as never);

export class SimulatedVpn {
  readonly #options: VpnOptions;
  readonly #kernel = new FakeKernel();
  /** Ends the commands of the kernel that are under way. */
  readonly #waiting = new Set<() => void>();
  #sessions: VpnSessions | undefined;
  #takingOver: Promise<VpnSessions> | undefined;
  /** Whether it has seen the tunnels since, and judged them by their services. */
  #hasLooked = false;
  readonly #tunnels = new Map<string, Tunnel>();
  /** All that clients were let in with since the machine was started, by connection. */
  readonly #all = new Map<string, Session>();
  /** Clients come once it has: a journal without a cursor does not hear of sessions before it. */
  #hasReported = false;

  constructor(options: VpnOptions) {
    this.#options = options;
  }

  get hasTakenOver(): boolean {
    return this.#hasLooked;
  }

  /** The sessions that the kernel lets pass. */
  get open(): Array<[connection: string, Session]> {
    return [...this.#all].filter(([connection, { inside }]) => {
      const session = this.#kernel.kept.get(inside);
      return session?.is_open && session.note.startsWith(connection);
    });
  }

  // ---- What the engine does -----------------------------------------------------------------

  /** Begins to take over what the kernel has of an engine before. */
  start(policy: () => Policy, users: UserCounts): void {
    const { rules, scheduler, owner } = this.#options;
    const kernel = this.#kernel;
    kernel.pause = () => this.#pass();
    const clock = scheduler.clockOf(owner, () => true);
    const sessions = new VpnSessions({ pool, kernel, rules, policy, clock, users });
    const takeOver = async () => {
      await kernel.apply();
      await sessions.recover();
      this.#noteRevoked(await sessions.closeRevoked());
      this.#sessions = sessions;
      return sessions;
    };
    this.#takingOver = takeOver();
    this.#takingOver.catch(() => {});
  }

  /**
   * The engine ends at once, or the machine with it; returns the sessions whose counts are lost.
   */
  die({ withMachine }: { withMachine: boolean }): Session[] {
    this.#sessions = undefined;
    this.#takingOver = undefined;
    this.#hasLooked = false;
    this.#kernel.pause = () => Promise.reject(new Error('the engine has died'));
    for (const end of this.#waiting) end();
    if (!withMachine) return [];
    const lost = [...this.#all.values()];
    this.#kernel.lose();
    this.#tunnels.clear();
    this.#all.clear();
    return lost;
  }

  /** Errors: the engine died meanwhile. */
  async closeRevoked(accounts?: Iterable<number>): Promise<void> {
    const sessions = await this.#takingOver;
    if (this.#options.conduct === 'keeps-tunnels') return;
    this.#noteRevoked((await sessions?.closeRevoked(accounts)) ?? []);
  }

  #noteRevoked(revoked: readonly Revoked[]): void {
    const { trace, onRevoked } = this.#options;
    for (const { connection, reason } of revoked) {
      trace.note('tunnel-ended', reason);
      const session = this.#all.get(connection);
      if (session) onRevoked(session, reason);
    }
  }

  /** Ends the sessions that an order names; returns how many. Errors: the engine died. */
  async end(order: EndOrder): Promise<number> {
    return (await (await this.#takingOver)?.end(order)) ?? 0;
  }

  /** As each second: time ends sessions, and tunnels without one are ended. */
  sweep(): void {
    const sessions = this.#sessions;
    for (const stray of sessions?.noteTunnels(new Map(this.#tunnels)) ?? []) {
      for (const [address, tunnel] of this.#tunnels) {
        if (tunnel === stray) this.#tunnels.delete(address);
      }
    }
    const judged = this.closeRevoked().then(() => {
      if (sessions === this.#sessions) this.#hasLooked = sessions !== undefined;
    });
    judged.catch(() => {});
  }

  async poll(cursor: unknown, stored: Stored): Promise<Poll> {
    if (!this.#sessions) return { finished: [], open: [], cursor: cursor ?? null };
    if (this.#options.conduct !== 'tells-again') return this.#sessions.poll(cursor, stored);
    return this.#sessions.poll([], { cursor: [], counted: stored.counted });
  }

  noteReported({ finished, open, cursor }: Poll): void {
    this.#hasReported ||= cursor !== null;
    for (const { connection, up, down } of [...finished, ...open]) {
      const session = this.#all.get(connection);
      if (session) session.reported = { up, down };
    }
  }

  /** The bytes that the meter got, to be put back when it forgot them. */
  rememberReported(): () => void {
    const hadReported = this.#hasReported;
    const before = Array.from(this.#all.values(), (session) => ({
      one: session,
      reported: session.reported,
    }));
    return () => {
      this.#hasReported = hadReported;
      for (const { one: session, reported } of before) session.reported = reported;
    };
  }

  // ---- What clients do ----------------------------------------------------------------------

  /** One whose login was allowed builds a tunnel, when it has an address. */
  async login(request: Attempt, allowed: Allowed, source: string): Promise<void> {
    if (!this.#hasReported) return;
    // An engine that dies answers nothing.
    const { service, exit_ip } = request;
    const outcome = await this.#sessions
      ?.open(allowed, undefined, undefined, service, source)
      .catch(() => undefined);
    if (typeof outcome === 'string') this.#noteRefused(allowed, outcome);
    if (typeof outcome !== 'object') return;
    const { address: inside, connection, authority } = outcome;
    const { account, user } = authority;
    const { time } = this.#options.scheduler;
    const names = { service: service as VpnService, address: source, exit_ip };
    const bytes = { up: 0, down: 0, reported: { up: 0, down: 0 } };
    this.#all.set(connection, {
      ...{ asked: request, ...names, account, user, inside, since: time, moved_at: time, ...bytes },
    });
    this.#tunnels.set(inside, { ike: connection, ends: names });
  }

  #noteRefused({ authority }: Allowed, reason: Reason): void {
    this.#options.trace.note('login-overtaken', reason);
    if (authority.by !== 'probe') this.#options.onExcess(authority, reason);
  }

  /** Whether it passes. */
  transfer(connection: string, up: number, down: number): Session | undefined {
    const session = this.#all.get(connection);
    if (!session || !this.#kernel.transfer(session.inside, up, down)) return undefined;
    session.up += up;
    session.down += down;
    session.moved_at = this.#options.scheduler.time;
    return session;
  }

  leave(connection: string): void {
    const { inside = '' } = this.#all.get(connection) ?? {};
    this.#tunnels.delete(inside);
  }

  /** The time that a command of the kernel takes. */
  #pass(): Promise<void> {
    const { scheduler, random, owner } = this.#options;
    return new Promise((resolve, reject) => {
      const end = () => {
        this.#waiting.delete(end);
        cancel();
        reject(new Error('the engine has died'));
      };
      const go = () => {
        this.#waiting.delete(end);
        resolve();
      };
      const cancel = scheduler.after(random.next() * slowestSeconds, go, owner);
      this.#waiting.add(end);
    });
  }
}
