// The sessions of the VPN. A login opens them, the kernel holds them with their counts, and they
// are over with their tunnels.
import { randomBytes, randomInt } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { EndOrder } from '../../../kit/src/node_interface.ts';
import { SerialQueue } from '../../../kit/src/serial_queue.ts';
import type { VpnService } from '../../../kit/src/vpn_password.ts';
import type { Clock } from '../clock.ts';
import { isWanted } from '../connection_groups.ts';
import type { Finished, OpenConnection, Poll, Stored, Traffic } from '../engine.ts';
import type { OpenUse } from '../exit_use.ts';
import { revocationOf } from '../policy/decide.ts';
import type { Allowed, Authority, PortRange, Rules } from '../policy/decision.ts';
import type { Reason } from '../policy/denials.ts';
import type { Policy } from '../policy/policy.ts';
import { type Revoked, Sessions } from '../policy/sessions.ts';
import type { UserCounts } from '../user_counts.ts';
import { type AddressRange, addressAt } from './pool.ts';
import { chooseBlock } from './port_blocks.ts';
import type { LoginAttempt } from './radius_server.ts';

/** Identifies a session's flows. */
export interface SessionFlows {
  /** The client's address inside the tunnel. */
  address: string;
  /**
   * Their zone of connection tracking, from 1 to 65535; another one than that of an earlier session
   * with the address. 0: an older agent opened the session.
   */
  zone: number;
  /** The ports at the exit from which they leave. Undefined: those that the kernel chooses. */
  exit_ports?: PortRange | undefined;
}

/** A session as the kernel gets it. */
export interface KernelSession extends SessionFlows {
  exit_ip: string;
  /** At most 120 characters, without quotation marks. */
  note: string;
}

/** The bytes of IP packets that passed through a session's tunnel. */
export interface KernelCount {
  address: string;
  note: string;
  up: number;
  down: number;
}

/**
 * The sessions in the kernel, which lets their packets pass and counts them. They outlive this
 * process. Errors of all methods: the kernel refuses.
 */
export interface KernelSessions {
  /** Whether the kernel has the rules, and with them the sessions. */
  isThere(): Promise<boolean>;
  /** Adds a session, as a whole or not at all; refuses an address that is in use. */
  open(session: KernelSession): Promise<void>;
  /** Stops all their traffic at once; they may be closed already. Their counts stay. */
  close(addresses: readonly string[]): Promise<void>;
  /** Drops closed sessions and their counts. */
  forget(sessions: readonly SessionFlows[]): Promise<void>;
  /** All sessions that it holds, open or not. */
  list(): Promise<KernelCount[]>;
  listOpen(): Promise<ReadonlySet<string>>;
}

export interface VpnSessionsOptions {
  pool: AddressRange;
  kernel: KernelSessions;
  rules: Rules;
  /** The current policy. */
  policy: () => Policy;
  clock: Clock;
  /** Counts the sessions of users with limits. */
  users?: UserCounts;
  /**
   * Set if clients have ports of their own at their exit. Returns the ports of the machine's own
   * connections, which are assigned last.
   */
  ownPorts?: (() => PortRange) | undefined;
}

export type VpnAuthority = Extract<Authority, { by: 'token' | 'vpn' }>;

export interface VpnSession extends SessionFlows {
  /** A name that is never reused. */
  connection: string;
  authority: VpnAuthority;
  /** Epoch seconds. */
  since: number;
  is_open: boolean;
  /** Its bytes at the last count, and when they last increased, in epoch seconds. */
  counted: { up: number; down: number; last_byte_at: number };
  /** Its client, as of the login or the last look. */
  client?: TunnelClient | undefined;
  /** As of its login; undefined: an earlier agent opened it. */
  ends?: Record<keyof TunnelEnds, string> | undefined;
}

/** Identifies a client of IKEv1 that logs in again for new keys. */
export type TunnelClient = Pick<LoginAttempt, 'connection' | 'login' | 'source' | 'source_port'>;

/** The ends of a tunnel, and its service. */
export interface TunnelEnds {
  service: VpnService;
  exit_ip: string;
  /** The client's address. */
  address: string;
}

/** For sessions of an earlier agent before the first look. No order names such ends. */
const unknownEnds = { service: '', exit_ip: '', address: '' };

/** A tunnel, with the handle to end it: charon's number for it, or a pppd process. */
export type Tunnel = { ends?: TunnelEnds | undefined } & (
  | { ike: string; client?: TunnelClient | undefined }
  | { pppd: number }
);

/** How long a client may take from its login to its tunnel. */
const buildingSeconds = 30;
/** If no look saw a tunnel for this long, a client that logs in again gave up its last login. */
const abandonedSeconds = 2;
const prefix = 'vpn-';
const largestZone = 65_535;

export class VpnSessions {
  readonly #options: VpnSessionsOptions;
  /**
   * Opening, counting, dropping and restoring run one at a time. Closing does not wait for them.
   */
  readonly #queue = new SerialQueue();
  readonly #revocations = new SerialQueue();
  readonly #byAddress = new Map<string, VpnSession>();
  /** Open sessions by account, to find those that are no longer allowed. */
  readonly #authorities = new Sessions((connection) => this.#services.get(connection));
  /** By connection. Of an earlier agent's, the service is known after a look at the tunnel. */
  readonly #services = new Map<string, string>();
  /** The tunnels at the last look, by address. */
  #tunnels: ReadonlyMap<string, Tunnel> | undefined;
  /** The time of that look, in epoch seconds. */
  #lastLookAt = 0;
  /** Sessions without a tunnel at any look since their login, and the time of the login. */
  readonly #building = new Map<string, number>();
  /** Sessions of an earlier agent, until the first poll. */
  #inherited: VpnSession[] = [];
  /** Where the search for a free address continues, so that addresses stay unused for long. */
  #next: number;
  /** The zone of the last session; the next one has the following. */
  #zone = randomInt(largestZone);
  /** The ports of the last session that has some. */
  #lastPorts: PortRange | undefined;
  #isShut = false;

  constructor(options: VpnSessionsOptions) {
    this.#options = options;
    this.#next = randomInt(options.pool.size);
  }

  /** Takes over the sessions that the kernel has from an earlier agent. */
  async recover(): Promise<void> {
    const { kernel } = this.#options;
    const [counts, open] = await Promise.all([kernel.list(), kernel.listOpen()]);
    const sessions = counts.flatMap((count) => readNote(count) ?? []);
    for (const session of sessions.sort((a, b) => a.since - b.since)) {
      session.is_open = open.has(session.address);
      this.#building.set(session.connection, session.since);
      this.#byAddress.set(session.address, session);
      this.#inherited.push(session);
      if (session.is_open) this.#authorities.open(session.connection, session.authority);
    }
    this.#follow();
  }

  /** The oldest first. */
  get all(): Iterable<VpnSession> {
    return this.#byAddress.values();
  }

  /** The addresses of open sessions that had a tunnel at the last look. */
  get withTunnel(): string[] {
    const open = [...this.all].filter(({ is_open }) => is_open);
    return open.map(({ address }) => address).filter((address) => this.#tunnels?.has(address));
  }

  /** The open sessions that had a tunnel at the last look. */
  *connections(): Generator<OpenConnection> {
    for (const { address: inside, is_open, authority, since, counted } of this.all) {
      const { ends } = this.#tunnels?.get(inside) ?? {};
      if (is_open && ends) yield { ...ends, authority, since, ...counted };
    }
  }

  /** The same for the connection log. */
  *uses(): Generator<OpenUse> {
    for (const { connection, address: inside, is_open, authority, since, exit_ports } of this.all) {
      const { ends } = this.#tunnels?.get(inside) ?? {};
      const { account, user } = authority;
      if (is_open && ends) yield { key: connection, ...ends, exit_ports, account, user, since };
    }
  }

  /** The number of tunnels; undefined before the first look. */
  get size(): number | undefined {
    return this.#tunnels?.size;
  }

  /** Whether a session has the address, open or until its last bytes are reported. */
  hasSession(address: string): boolean {
    return this.#byAddress.has(address);
  }

  /**
   * The open session of a client that logs in again in its tunnel. charon is not asked, since each
   * login that waits for RADIUS occupies one of its threads, and it might have none left to
   * respond.
   */
  resume(client: TunnelClient, authority: Authority): VpnSession | undefined {
    for (const session of this.all) {
      if (!session.is_open || !isDeepStrictEqual(session.client, client)) continue;
      if (!isDeepStrictEqual(session.authority, authority)) continue;
      // The tunnel may be missing for a moment, while charon replaces it or it comes back.
      this.#building.set(session.connection, this.#options.clock.now());
      return session;
    }
    return undefined;
  }

  /**
   * Opens a session for a login; returns it, or the reason against it. `pppAddress`: of a PPP
   * client, which already has its address. `client`: one that may log in again. `service`: of the
   * VPN. `source`: the client's address. Errors: the kernel's.
   */
  open(
    { authority, exit_ip }: Allowed,
    pppAddress?: string,
    client?: TunnelClient,
    service = '',
    source = '',
  ): Promise<VpnSession | Reason> {
    return this.#queue.run(async () => {
      const { kernel, rules, policy, clock, users } = this.#options;
      if (authority.by !== 'vpn' && authority.by !== 'token') return 'bad_token';
      const objection = this.objectionTo(authority, service, source, pppAddress);
      if (objection) return objection;
      if (users?.objectionTo(source, authority, clock.now())) {
        await this.#close(this.#abandoned(authority, service, source));
      }
      const address = pppAddress ?? this.#chooseAddress();
      if (address === undefined) return 'too_many_connections';
      const connection = `${prefix}${randomBytes(8).toString('hex')}`;
      const since = Math.floor(clock.now());
      this.#zone = (this.#zone % largestZone) + 1;
      const exit_ports = this.#choosePorts(exit_ip);
      const flows = { address, zone: this.#zone, ...(exit_ports && { exit_ports }) };
      const counted = { up: 0, down: 0, last_byte_at: since };
      const names = { connection, ...flows, authority, since };
      const ends = { service, exit_ip, address: source };
      const session = { ...names, is_open: true, counted, client, ends };
      await kernel.open({ ...flows, exit_ip, note: noteOf(session) });
      this.#byAddress.set(address, session);
      this.#building.set(connection, since);
      if (service !== '') this.#services.set(connection, service);
      this.#authorities.open(connection, authority);
      // A change may have come after the decision, when there was no session to close.
      const revoked = revocationOf(policy(), rules, authority, clock.now(), service || undefined);
      // If it is refused after all, it does not count for limits, not even while it is closed.
      session.is_open = revoked === undefined;
      if (revoked) await this.#close([session]);
      else users?.admit(connection, source, authority, clock.now());
      return revoked ?? session;
    });
  }

  /**
   * Why a login would get no session now; undefined: it would get one. `pppAddress`: as for `open`.
   */
  objectionTo(
    authority: VpnAuthority,
    service: string,
    source: string,
    pppAddress?: string,
  ): Reason | undefined {
    const { clock, users } = this.#options;
    if (this.#isShut) return 'not_ready';
    const isTaken =
      pppAddress === undefined ? this.#nextFree() === undefined : this.hasSession(pppAddress);
    if (isTaken) return 'too_many_connections';
    const reason = users?.objectionTo(source, authority, clock.now());
    if (!reason) return undefined;
    const ending = this.#abandoned(authority, service, source).length;
    return users?.objectionTo(source, authority, clock.now(), '', ending);
  }

  /** A user's logins from an address that were given up without a tunnel, and so give way. */
  #abandoned({ account, user }: VpnAuthority, service: string, source: string): VpnSession[] {
    return [...this.all].filter(({ is_open, connection, authority, since, ends }) => {
      // A session that `resume` waits for is not one of them.
      const isBuilding = is_open && this.#building.get(connection) === since;
      if (!isBuilding || this.#lastLookAt - since < abandonedSeconds || !ends) return false;
      return isWanted({ account, user, service, address: source }, { ...ends, ...authority });
    });
  }

  /**
   * Closes the sessions that are no longer allowed, only those of `accounts` if given; returns
   * them. Errors: the kernel's.
   */
  closeRevoked(accounts?: Iterable<number>): Promise<Revoked[]> {
    return this.#revocations.run(async () => {
      const { rules, policy, clock, users } = this.#options;
      this.#follow(accounts);
      const revoked = [
        ...this.#authorities.revoked(policy(), rules, clock.now(), accounts),
        ...(users?.excess(clock.now()) ?? []),
      ];
      const reasons = new Map(revoked.map(({ connection, reason }) => [connection, reason]));
      if (reasons.size > 0) {
        await this.#close([...this.all].filter(({ connection }) => reasons.has(connection)));
      }
      return revoked;
    });
  }

  /**
   * Closes the sessions that are open now and that the order names; returns how many. Errors: the
   * kernel's.
   */
  end(order: EndOrder): Promise<number> {
    return this.#revocations.run(async () => {
      const named = [...this.all].filter(({ is_open, address, authority, ends }) => {
        const current = this.#endsOf({ address, ends }) ?? unknownEnds;
        return is_open && isWanted(order, { ...current, ...authority });
      });
      await this.#close(named);
      return named.length;
    });
  }

  /** Closes all sessions, and opens no more. */
  shut(): Promise<void> {
    return this.#queue.run(async () => {
      this.#isShut = true;
      await this.#close([...this.all]);
    });
  }

  /**
   * Calls `apply` to restore the kernel's rules if they are lost. All sessions are lost with them,
   * so their stored counts are final.
   */
  restore(apply: () => Promise<void>): Promise<void> {
    return this.#queue.run(async () => {
      if (this.#isShut || (await this.#options.kernel.isThere())) return;
      for (const session of this.#byAddress.values()) this.#drop(session);
      await apply();
    });
  }

  /**
   * Notes a login for an address that was assigned again, so the previous client's tunnel is over,
   * even if no look saw that.
   */
  noteReuse(address: string): void {
    const session = this.#byAddress.get(address);
    if (session) this.#building.delete(session.connection);
  }

  /** `tunnels`: the current ones by inner address. Returns those without a session, to end. */
  noteTunnels(tunnels: Map<string, Tunnel>): Tunnel[] {
    this.#tunnels = tunnels;
    this.#lastLookAt = this.#options.clock.now();
    const strays: Tunnel[] = [];
    for (const [address, tunnel] of tunnels) {
      const session = this.#byAddress.get(address);
      if (session?.is_open) {
        this.#building.delete(session.connection);
        if (tunnel.ends) this.#services.set(session.connection, tunnel.ends.service);
        if ('client' in tunnel) session.client = tunnel.client ?? session.client;
      } else strays.push(tunnel);
    }
    this.#follow();
    return strays;
  }

  /**
   * Counts open sessions for their users, who may have new limits, only those of `accounts` if
   * given. An address is in use while bytes move.
   */
  #follow(accounts?: Iterable<number>): void {
    const { users } = this.#options;
    const touched = accounts && new Set(accounts);
    for (const session of users ? this.all : []) {
      const { connection, authority, counted } = session;
      if (!session.is_open || touched?.has(authority.account) === false) continue;
      users?.admit(connection, this.#endsOf(session)?.address, authority, undefined);
      users?.moved(connection, counted.last_byte_at);
    }
  }

  /** As of the last look, or of the login. */
  #endsOf({ address, ends }: Pick<VpnSession, 'address' | 'ends'>): VpnSession['ends'] {
    return this.#tunnels?.get(address)?.ends ?? ends;
  }

  /**
   * The counts for the usage journal. `cursor`: the names of the finished sessions that were
   * reported and may not be stored yet; undefined or null for a journal that is new. `stored`: the
   * journal on disk; without it, everything reported is stored.
   *
   * A finished session is reported once, and the kernel holds it until the cursor with its name is
   * stored. One that the kernel lost, in a reboot, is reported with its stored counts.
   */
  poll(cursor: unknown, stored?: Stored): Promise<Poll> {
    return this.#queue.run(async () => {
      const reported = namesOf(cursor);
      const durable = stored ? namesOf(stored.cursor) : reported;
      if (cursor === undefined || cursor === null) await this.#forgetInherited();
      this.#inherited = [];
      await this.#forget([...this.all].filter(({ connection }) => durable.has(connection)));
      const { finished, open } = await this.#count(reported, stored?.counted ?? new Map());
      const waiting = [...reported].filter((connection) => !durable.has(connection));
      const names = finished.map(({ connection }) => connection);
      return { finished, open, cursor: [...waiting, ...names] };
    });
  }

  /**
   * For a new journal: closes the sessions of an earlier agent without reporting their traffic,
   * which another journal may have.
   */
  async #forgetInherited(): Promise<void> {
    await this.#close(this.#inherited);
    await this.#forget(this.#inherited);
  }

  /**
   * The traffic of sessions that were not reported as finished. Closes sessions that are over; the
   * next call reports them, since more packets may come after their counts are read.
   */
  async #count(
    reported: ReadonlySet<string>,
    counted: Stored['counted'],
  ): Promise<Pick<Poll, 'finished' | 'open'>> {
    const now = this.#options.clock.now();
    const sessions = [...this.all];
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
      const isMoved = up + down > session.counted.up + session.counted.down;
      // The clock may have been set back.
      const lastByteAt = isMoved ? now : Math.min(session.counted.last_byte_at, now);
      session.counted = { up, down, last_byte_at: lastByteAt };
      if (reported.has(connection)) continue;
      const traffic = { connection, account, user, up, down };
      if (isFinal.has(session) && this.#isOver(session)) finished.push({ ...traffic, at: now });
      else open.push(traffic);
    }
    await this.#close(sessions.filter((session) => session.is_open && this.#isOver(session)));
    for (const [connection, traffic] of counted) {
      if (!connection.startsWith(prefix) || listed.has(connection) || reported.has(connection))
        continue;
      finished.push({ ...traffic, at: now });
    }
    for (const session of sessions) if (!listed.has(session.connection)) this.#drop(session);
    return { finished, open };
  }

  /** Whether a session is over: it has no tunnel, and will not get one. */
  #isOver({ address, connection }: VpnSession): boolean {
    if (this.#isShut) return true;
    if (!this.#tunnels || this.#tunnels.has(address)) return false;
    const since = this.#building.get(connection);
    return since === undefined || this.#lastLookAt - since >= buildingSeconds;
  }

  /** Stops all their traffic at once. */
  async #close(sessions: readonly VpnSession[]): Promise<void> {
    if (sessions.length === 0) return;
    await this.#options.kernel.close(sessions.map(({ address }) => address));
    for (const session of sessions) {
      session.is_open = false;
      this.#authorities.close(session.connection);
      this.#options.users?.close(session.connection);
    }
  }

  async #forget(sessions: readonly VpnSession[]): Promise<void> {
    if (sessions.length === 0) return;
    await this.#options.kernel.forget(sessions);
    for (const session of sessions) this.#drop(session);
  }

  #drop({ address, connection }: VpnSession): void {
    this.#byAddress.delete(address);
    this.#authorities.close(connection);
    this.#options.users?.close(connection);
    this.#services.delete(connection);
    this.#building.delete(connection);
  }

  /** An address of the pool without a session or a tunnel; undefined: none is left. */
  #chooseAddress(): string | undefined {
    const { pool } = this.#options;
    const at = this.#nextFree();
    if (at === undefined) return undefined;
    this.#next = (at + 1) % pool.size;
    return addressAt(pool, at);
  }

  /** The place of the next free address in the pool; undefined: all are in use. */
  #nextFree(): number | undefined {
    const { pool } = this.#options;
    for (let tries = 0; tries < pool.size; tries += 1) {
      const at = (this.#next + tries) % pool.size;
      const address = addressAt(pool, at);
      if (!this.hasSession(address) && !this.#tunnels?.has(address)) return at;
    }
    return undefined;
  }

  /** Ports of an earlier agent's sessions count at every exit, until a look shows their exit. */
  #choosePorts(exit_ip: string): PortRange | undefined {
    const ownPorts = this.#options.ownPorts?.();
    if (!ownPorts) return undefined;
    const inUse: PortRange[] = [];
    for (const { address, exit_ports, ends } of this.all) {
      const exit = this.#endsOf({ address, ends })?.exit_ip ?? exit_ip;
      if (exit_ports && exit === exit_ip) inUse.push(exit_ports);
    }
    this.#lastPorts = chooseBlock(inUse, ownPorts, this.#lastPorts);
    return this.#lastPorts;
  }
}

function namesOf(cursor: unknown): ReadonlySet<string> {
  const names = Array.isArray(cursor) ? cursor : [];
  return new Set(names.filter((name) => typeof name === 'string'));
}

/** Everything that the next agent needs to know of a session, in at most 120 characters. */
function noteOf({ connection, zone, since, authority, exit_ports }: VpnSession): string {
  const { by, account, user, token_version, expiry } = authority;
  const key = by === 'token' ? authority.kid : `-${authority.generation}`;
  const ports = exit_ports ? [exit_ports.first, exit_ports.last] : [];
  const claims = [account, user, token_version, expiry ?? '-', key];
  return [connection, since, ...claims, zone, ...ports].join(' ');
}

function readNote({ address, note }: KernelCount): VpnSession | undefined {
  const [
    connection = '',
    since,
    account,
    user,
    token_version,
    expiry = '-',
    key = '',
    flows = '0',
    ...ports
  ] = note.split(' ');
  const numbers = [since, account, user, token_version, flows, ...ports].map(Number);
  if (!connection.startsWith(prefix) || !numbers.every(Number.isSafeInteger)) return undefined;
  const [at = 0, account_id = 0, user_id = 0, version = 0, zone = 0, first, last] = numbers;
  const claims = { account: account_id, user: user_id, token_version: version };
  const authority: VpnAuthority = key.startsWith('-')
    ? {
        ...{ by: 'vpn', ...claims, expiry: expiry === '-' ? null : Number(expiry) },
        generation: Number(key.slice(1)),
      }
    : { by: 'token', ...claims, expiry: Number(expiry), kid: key };
  const counted = { up: 0, down: 0, last_byte_at: at };
  const flowsOf = { address, zone, ...(first && last && { exit_ports: { first, last } }) };
  return { connection, ...flowsOf, authority, since: at, is_open: false, counted };
}
