// The sessions of the VPN: let in by a login, kept by the kernel together with their counts, ended by what carries them.
import { randomBytes, randomInt } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { SerialQueue } from '../../../kit/src/serial_queue.ts';
import type { Clock } from '../clock.ts';
import type { Finished, Poll, Stored, Traffic } from '../engine.ts';
import { type Allowed, type Authority, type Rules, revocationOf } from '../policy/decide.ts';
import type { Reason } from '../policy/denials.ts';
import type { Policy } from '../policy/policy.ts';
import { type Revoked, Sessions } from '../policy/sessions.ts';
import { type AddressRange, addressAt } from './pool.ts';
import type { LoginAttempt } from './radius_server.ts';

/** A session as the kernel is told it. */
export interface KernelSession {
  /** The client's inside the tunnel. */
  address: string;
  exit_ip: string;
  /** At most 120 characters; no quotation marks. */
  note: string;
}

/** The bytes of IP packets that pass through the tunnel of a session. */
export interface KernelCount {
  address: string;
  note: string;
  up: number;
  down: number;
}

/** The part of the kernel that lets sessions pass and counts their bytes. It outlives this process. Errors of all: it refuses. */
export interface KernelSessions {
  /** Whether it has its rules, and with them what it was told. */
  isThere(): Promise<boolean>;
  /** Lets a session pass, all of it or nothing; an address that is in use is refused. */
  open(session: KernelSession): Promise<void>;
  /** Ends what these send and are sent, at once; they may be closed already. Their counts stay. */
  close(addresses: readonly string[]): Promise<void>;
  /** Forgets sessions that were closed, and their counts. */
  forget(addresses: readonly string[]): Promise<void>;
  /** All that it keeps, open or not. */
  list(): Promise<KernelCount[]>;
  listOpen(): Promise<ReadonlySet<string>>;
}

export interface VpnSessionsOptions {
  pool: AddressRange;
  kernel: KernelSessions;
  rules: Rules;
  /** That of now. */
  policy: () => Policy;
  clock: Clock;
}

export type VpnAuthority = Extract<Authority, { by: 'token' | 'vpn' }>;

export interface VpnSession {
  /** Names it for ever. */
  connection: string;
  address: string;
  authority: VpnAuthority;
  /** Epoch seconds. */
  since: number;
  is_open: boolean;
  /** Where its client was at its login, and at the last look. */
  client?: TunnelClient | undefined;
}

/** By which a client of IKEv1 is known when it logs in again for new keys. */
export type TunnelClient = Pick<LoginAttempt, 'connection' | 'login' | 'source' | 'source_port'>;

/** The part that carries a tunnel, by which it is ended: a number of charon's, or a process of pppd. */
export type Tunnel = { ike: string; client?: TunnelClient | undefined } | { pppd: number };

/** So long a client may take from its login to its tunnel. */
const building_seconds = 30;
const prefix = 'vpn-';

export class VpnSessions {
  readonly #options: VpnSessionsOptions;
  /** Opening, counting, forgetting and restoring happen one at a time. Closing waits for none of them. */
  readonly #queue = new SerialQueue();
  readonly #revocations = new SerialQueue();
  readonly #byAddress = new Map<string, VpnSession>();
  /** Those that are open, by account, to find those that may no longer be. */
  readonly #authorities = new Sessions();
  /** Those that had a tunnel at the last look, by address. */
  #tunnels: ReadonlyMap<string, Tunnel> | undefined;
  /** When that was, in epoch seconds. */
  #looked_at = 0;
  /** Sessions that no look has seen a tunnel of since their login, and when that was. */
  readonly #building = new Map<string, number>();
  /** Those of an agent before, until the first poll. */
  #inherited: VpnSession[] = [];
  /** Where the search for a free address goes on: an address rests as long as possible. */
  #next: number;
  #isShut = false;

  constructor(options: VpnSessionsOptions) {
    this.#options = options;
    this.#next = randomInt(options.pool.size);
  }

  /** Takes over the sessions that the kernel has from an agent before. */
  async recover(): Promise<void> {
    const { kernel } = this.#options;
    const [counts, open] = await Promise.all([kernel.list(), kernel.listOpen()]);
    for (const count of counts) {
      const session = readNote(count);
      if (!session) continue;
      session.is_open = open.has(session.address);
      this.#building.set(session.connection, session.since);
      this.#byAddress.set(session.address, session);
      this.#inherited.push(session);
      if (session.is_open) this.#authorities.open(session.connection, session.authority);
    }
  }

  get all(): Iterable<VpnSession> {
    return this.#byAddress.values();
  }

  /** How many tunnels there are; undefined before the first look. */
  get size(): number | undefined {
    return this.#tunnels?.size;
  }

  /** Whether nobody has the address, and no count of somebody before is kept. */
  isFree(address: string): boolean {
    return !this.#byAddress.has(address);
  }

  /**
   * The open session of a client that logs in again in its tunnel. charon is not asked: it has a
   * thread for each login that waits for RADIUS, and many leave it none to answer.
   */
  resume(client: TunnelClient, authority: Authority): VpnSession | undefined {
    for (const session of this.all) {
      if (!session.is_open || !isDeepStrictEqual(session.client, client)) continue;
      if (!isDeepStrictEqual(session.authority, authority)) continue;
      // The tunnel changes hands in charon, or was ended and comes again: a look may see none.
      this.#building.set(session.connection, this.#options.clock.now());
      return session;
    }
    return undefined;
  }

  /**
   * Opens a session for a login; returns it, or the reason against it. `given`: the address of a client by PPP, which has one
   * already. `client`: one that may log in again. Errors: the kernel's.
   */
  open(
    { authority, exit_ip }: Allowed,
    given?: string,
    client?: TunnelClient,
  ): Promise<VpnSession | Reason> {
    return this.#queue.run(async () => {
      const { kernel, rules, policy, clock } = this.#options;
      const address = given ?? this.#freeAddress();
      if (this.#isShut) return 'not_ready';
      if (address === undefined || !this.isFree(address)) return 'too_many_connections';
      if (authority.by !== 'vpn' && authority.by !== 'token') return 'bad_token';
      const connection = `${prefix}${randomBytes(8).toString('hex')}`;
      const since = Math.floor(clock.now());
      const session = { connection, address, authority, since, is_open: true, client };
      await kernel.open({ address, exit_ip, note: noteOf(session) });
      this.#byAddress.set(address, session);
      this.#building.set(connection, since);
      this.#authorities.open(connection, authority);
      // A change that came after the decision found no session to end.
      const reason = revocationOf(policy(), rules, authority, clock.now());
      if (reason) await this.#close([session]);
      return reason ?? session;
    });
  }

  /** Ends those that may no longer be, of these accounts alone when some are given; returns them. Errors: the kernel's. */
  closeRevoked(accounts?: Iterable<number>): Promise<Revoked[]> {
    return this.#revocations.run(async () => {
      const { rules, policy, clock } = this.#options;
      const revoked = [...this.#authorities.revoked(policy(), rules, clock.now(), accounts)];
      const reasons = new Map(revoked.map(({ connection, reason }) => [connection, reason]));
      if (reasons.size > 0) {
        await this.#close([...this.all].filter(({ connection }) => reasons.has(connection)));
      }
      return revoked;
    });
  }

  /** Ends them all, and lets no more in. */
  shut(): Promise<void> {
    return this.#queue.run(async () => {
      this.#isShut = true;
      await this.#close([...this.all]);
    });
  }

  /** Has the kernel's rules put in force by `apply`, if it lost them; with them went all sessions, whose counts that are kept are final. */
  restore(apply: () => Promise<void>): Promise<void> {
    return this.#queue.run(async () => {
      if (this.#isShut || (await this.#options.kernel.isThere())) return;
      for (const session of this.#byAddress.values()) this.#drop(session);
      await apply();
    });
  }

  /** A login for an address that was given out anew: the client who had it before has its tunnel behind it, though no look saw one. */
  noteReuse(address: string): void {
    const session = this.#byAddress.get(address);
    if (session) this.#building.delete(session.connection);
  }

  /** `tunnels`: all that there are now, by the address inside. Returns those of no session, which are to be ended. */
  noteTunnels(tunnels: Map<string, Tunnel>): Tunnel[] {
    this.#tunnels = tunnels;
    this.#looked_at = this.#options.clock.now();
    const strays: Tunnel[] = [];
    for (const [address, tunnel] of tunnels) {
      const session = this.#byAddress.get(address);
      if (session?.is_open) {
        this.#building.delete(session.connection);
        if ('client' in tunnel) session.client = tunnel.client ?? session.client;
      } else strays.push(tunnel);
    }
    return strays;
  }

  /**
   * The counts since the cursor; none: since this agent started. A session that is over is told once, and the kernel keeps it until the cursor that says so is kept. One
   * that the kernel lost, with the machine, is told as what is kept of it.
   */
  poll(cursor: unknown, stored?: Stored): Promise<Poll> {
    return this.#queue.run(async () => {
      const reported = namesOf(cursor);
      const durable = stored ? namesOf(stored.cursor) : reported;
      // A journal that is new was told nothing, and another one may have been: what was transferred before is not told again.
      if (cursor === undefined || cursor === null) {
        await this.#close(this.#inherited);
        await this.#forget(this.#inherited);
      }
      this.#inherited = [];
      await this.#forget([...this.all].filter(({ connection }) => durable.has(connection)));
      const now = this.#options.clock.now();
      const sessions = [...this.all];
      // The last packets of those that end meanwhile may come after their counts are read.
      const isFinal = new Set(sessions.filter(({ is_open }) => !is_open));
      const counts = sessions.length === 0 ? [] : await this.#options.kernel.list();
      const finished: Finished[] = [];
      const open: Traffic[] = [];
      const listed = new Set<string>();
      for (const { address, note, up, down } of counts) {
        const session = this.#byAddress.get(address);
        if (!session || !note.startsWith(session.connection)) continue;
        const { connection, authority } = session;
        const { account, user } = authority;
        listed.add(connection);
        if (reported.has(connection)) continue;
        const traffic = { connection, account, user, up, down };
        if (isFinal.has(session) && this.#isOver(session)) finished.push({ ...traffic, at: now });
        else open.push(traffic);
      }
      await this.#close(sessions.filter((session) => session.is_open && this.#isOver(session)));
      for (const [connection, traffic] of stored?.counted ?? []) {
        if (!connection.startsWith(prefix) || listed.has(connection) || reported.has(connection))
          continue;
        finished.push({ ...traffic, at: now });
      }
      for (const session of sessions) if (!listed.has(session.connection)) this.#drop(session);
      const waiting = [...reported].filter((connection) => !durable.has(connection));
      return {
        finished,
        open,
        cursor: [...waiting, ...finished.map(({ connection }) => connection)],
      };
    });
  }

  /** The sessions that are over: without a tunnel, and not about to get one. */
  #isOver({ address, connection }: VpnSession): boolean {
    if (this.#isShut) return true;
    if (!this.#tunnels || this.#tunnels.has(address)) return false;
    const since = this.#building.get(connection);
    return since === undefined || this.#looked_at - since >= building_seconds;
  }

  /** Ends what these send and are sent, at once. */
  async #close(sessions: readonly VpnSession[]): Promise<void> {
    if (sessions.length === 0) return;
    await this.#options.kernel.close(sessions.map(({ address }) => address));
    for (const session of sessions) {
      session.is_open = false;
      this.#authorities.close(session.connection);
    }
  }

  async #forget(sessions: readonly VpnSession[]): Promise<void> {
    if (sessions.length === 0) return;
    await this.#options.kernel.forget(sessions.map(({ address }) => address));
    for (const session of sessions) this.#drop(session);
  }

  #drop({ address, connection }: VpnSession): void {
    this.#byAddress.delete(address);
    this.#authorities.close(connection);
    this.#building.delete(connection);
  }

  #freeAddress(): string | undefined {
    const { pool } = this.#options;
    for (let tries = 0; tries < pool.size; tries += 1) {
      const address = addressAt(pool, this.#next);
      this.#next = (this.#next + 1) % pool.size;
      if (this.isFree(address) && !this.#tunnels?.has(address)) return address;
    }
    return undefined;
  }
}

function namesOf(cursor: unknown): ReadonlySet<string> {
  const names = Array.isArray(cursor) ? cursor : [];
  return new Set(names.filter((name) => typeof name === 'string'));
}

/** All that another agent needs to know of it, in at most 120 characters. */
function noteOf({ connection, since, authority }: VpnSession): string {
  const { by, account, user, token_version, expiry } = authority;
  const kid = by === 'token' ? authority.kid : '-';
  return [connection, since, account, user, token_version, expiry ?? '-', kid].join(' ');
}

function readNote({ address, note }: KernelCount): VpnSession | undefined {
  const [connection = '', since, account, user, token_version, expiry = '-', kid = '-'] =
    note.split(' ');
  const numbers = [since, account, user, token_version].map(Number);
  if (!connection.startsWith(prefix) || !numbers.every(Number.isSafeInteger)) return undefined;
  const [at = 0, account_id = 0, user_id = 0, version = 0] = numbers;
  const claims = { account: account_id, user: user_id, token_version: version };
  const authority: VpnAuthority =
    kid === '-'
      ? { by: 'vpn', ...claims, expiry: expiry === '-' ? null : Number(expiry) }
      : { by: 'token', ...claims, expiry: Number(expiry), kid };
  return { connection, address, authority, since: at, is_open: false };
}
