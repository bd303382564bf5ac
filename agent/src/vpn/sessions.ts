// The sessions of the VPN: let in by a login, kept by the kernel together with their counts, ended by what carries them.
import { randomBytes, randomInt } from 'node:crypto';
import type { Clock } from '../clock.ts';
import type { Finished, Kept, Poll, Traffic } from '../engine.ts';
import type { Allowed, Authority } from '../policy/decide.ts';
import { Sessions } from '../policy/sessions.ts';
import { SerialQueue } from '../serial_queue.ts';
import { type AddressRange, addressAt } from './pool.ts';
import {
  closeInKernel,
  forgetInKernel,
  type KernelCount,
  listInKernel,
  openInKernel,
} from './vpn_firewall.ts';

export type VpnAuthority = Extract<Authority, { by: 'token' | 'vpn' }>;

export interface VpnSession {
  /** Names it for ever. */
  connection: string;
  address: string;
  authority: VpnAuthority;
  /** Epoch seconds. */
  since: number;
  is_open: boolean;
}

/** The part that carries a tunnel, by which it is ended: a number of charon's, or a process of pppd. */
export type Tunnel = { ike: string } | { pppd: number };

/** So long a client may take from its login to its tunnel. */
const building_seconds = 30;
const prefix = 'vpn-';

export class VpnSessions {
  readonly #clock: Clock;
  readonly #range: AddressRange;
  readonly #queue = new SerialQueue();
  readonly #byAddress = new Map<string, VpnSession>();
  /** Those that are open, by account, to find those that may no longer be. */
  readonly authorities = new Sessions();
  /** Those that had a tunnel at the last look, by address. */
  #tunnels: ReadonlyMap<string, Tunnel> | undefined;
  readonly #built = new Set<string>();
  /** Where the search for a free address goes on: an address rests as long as possible. */
  #next: number;

  constructor(pool: AddressRange, clock: Clock) {
    this.#clock = clock;
    this.#range = pool;
    this.#next = randomInt(pool.size);
  }

  /** Takes over the sessions that the kernel has from an agent before. */
  async recover(): Promise<void> {
    for (const count of await listInKernel()) {
      const session = readNote(count);
      if (!session) continue;
      this.#byAddress.set(session.address, { ...session, is_open: count.is_open });
      if (count.is_open) this.authorities.open(session.connection, session.authority);
    }
  }

  get all(): Iterable<VpnSession> {
    return this.#byAddress.values();
  }

  /** How many tunnels there are; undefined before the first look. */
  get size(): number | undefined {
    return this.#tunnels?.size;
  }

  tunnelOf(address: string): Tunnel | undefined {
    return this.#tunnels?.get(address);
  }

  /** Whether nobody has the address, and no count of somebody before is kept. */
  isFree(address: string): boolean {
    return !this.#byAddress.has(address);
  }

  /**
   * Opens a session for a login; returns it. `given`: the address of a client by PPP, which has one already. Undefined: no
   * address is free. Errors: the kernel's.
   */
  open({ authority, exit_ip }: Allowed, given?: string): Promise<VpnSession | undefined> {
    return this.#queue.run(async () => {
      const address = given ?? this.#freeAddress();
      if (address === undefined || !this.isFree(address)) return undefined;
      if (authority.by !== 'vpn' && authority.by !== 'token') return undefined;
      const connection = `${prefix}${randomBytes(8).toString('hex')}`;
      const since = Math.floor(this.#clock.now());
      const session = { connection, address, authority, since, is_open: true };
      const is_ppp = given !== undefined;
      await openInKernel({ address, exit_ip, is_ppp, note: noteOf(session) });
      this.#byAddress.set(address, session);
      this.authorities.open(connection, authority);
      return session;
    });
  }

  /** Ends what these send and are sent, at once. */
  async close(sessions: readonly VpnSession[]): Promise<void> {
    if (sessions.length === 0) return;
    await closeInKernel(sessions.map(({ address }) => address));
    for (const session of sessions) {
      session.is_open = false;
      this.authorities.close(session.connection);
    }
  }

  /** `tunnels`: all that there are now, by the address inside. Returns those of no session, which are to be ended. */
  noteTunnels(tunnels: Map<string, Tunnel>): Tunnel[] {
    this.#tunnels = tunnels;
    const strays: Tunnel[] = [];
    for (const [address, tunnel] of tunnels) {
      const session = this.#byAddress.get(address);
      if (session?.is_open) this.#built.add(session.connection);
      else strays.push(tunnel);
    }
    return strays;
  }

  /** The sessions that are over: without a tunnel, and not about to get one. */
  #isOver({ address, connection, since }: VpnSession): boolean {
    if (!this.#tunnels || this.#tunnels.has(address)) return false;
    return this.#built.has(connection) || this.#clock.now() - since >= building_seconds;
  }

  /**
   * The counts. A session that is over is told once, and the kernel keeps it until the cursor that says so is kept. One
   * that the kernel lost, with the machine, is told as what is kept of it.
   */
  poll(cursor: unknown, kept?: Kept): Promise<Poll> {
    return this.#queue.run(async () => {
      const told = namesOf(cursor);
      const durable = kept ? namesOf(kept.cursor) : told;
      await this.#forget(durable);
      const counts = this.#byAddress.size === 0 ? [] : await listInKernel();
      const finished: Finished[] = [];
      const open: Traffic[] = [];
      const known = new Set<string>();
      const ended: VpnSession[] = [];
      for (const { address, up, down } of counts) {
        const session = this.#byAddress.get(address);
        if (!session) continue;
        const { connection, authority } = session;
        const { account, user } = authority;
        known.add(connection);
        const traffic = { connection, account, user, up, down };
        if (told.has(connection)) continue;
        if (!this.#isOver(session)) open.push(traffic);
        else if (session.is_open) {
          // Its last packets are counted when it is closed: it is told the next time.
          ended.push(session);
          open.push(traffic);
        } else finished.push({ ...traffic, at: this.#clock.now() });
      }
      await this.close(ended);
      for (const [connection, traffic] of kept?.counted ?? []) {
        if (!connection.startsWith(prefix) || known.has(connection) || told.has(connection))
          continue;
        finished.push({ ...traffic, at: this.#clock.now() });
      }
      for (const { address, connection } of this.#byAddress.values()) {
        if (known.has(connection)) continue;
        this.#byAddress.delete(address);
        this.authorities.close(connection);
      }
      const waiting = [...told].filter((connection) => !durable.has(connection));
      return {
        finished,
        open,
        cursor: [...waiting, ...finished.map(({ connection }) => connection)],
      };
    });
  }

  /** The kernel lost them all. Their counts that are kept are told as final by the next poll. */
  forgetAll(): void {
    for (const { connection } of this.#byAddress.values()) this.authorities.close(connection);
    this.#byAddress.clear();
    this.#built.clear();
  }

  async #forget(durable: ReadonlySet<string>): Promise<void> {
    if (durable.size === 0) return;
    const done = [...this.#byAddress.values()].filter(({ connection }) => durable.has(connection));
    if (done.length === 0) return;
    await forgetInKernel(done.map(({ address }) => address));
    for (const { address, connection } of done) {
      this.#byAddress.delete(address);
      this.#built.delete(connection);
    }
  }

  #freeAddress(): string | undefined {
    for (let tries = 0; tries < this.#range.size; tries += 1) {
      const address = addressAt(this.#range, this.#next);
      this.#next = (this.#next + 1) % this.#range.size;
      if (!this.#byAddress.has(address)) return address;
    }
    return undefined;
  }
}

function namesOf(cursor: unknown): ReadonlySet<string> {
  const names = Array.isArray(cursor) ? cursor : [];
  return new Set(names.filter((one) => typeof one === 'string'));
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
