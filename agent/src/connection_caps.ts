// Caps on clients' connections: derived from the descriptors that a process may open, and counted
// per address, user and account.
import { readFileSync } from 'node:fs';
import { clientNetworks } from '../../kit/src/client_networks.ts';
import type { Authority } from './policy/decision.ts';

export interface ConnectionCaps {
  /** Connections with an admitted request. */
  all: number;
  account: number;
  user: number;
  /** Per client address; for IPv6 per /64, with twice as many for a /56, four times for a /48. */
  address: number;
  /** Connections without an admitted request, for all addresses together. */
  waiting: number;
}

/** As in the settings; undefined: derived from the descriptors. */
export type CapSettings = {
  [Cap in Exclude<keyof ConnectionCaps, 'waiting'>]?: number | undefined;
};

/** Squid reserves memory for its descriptors, and more connections would take gigabytes. */
const maxDescriptors = 65_536;
/** Assumed if the system does not report the limit. */
const fewDescriptors = 1024;

/**
 * How many descriptors a process of this agent may open. Node raises its soft limit to the hard
 * limit, which the operator sets, and Squid inherits it. `squid`: a running process, whose limit is
 * that of its start.
 */
export function descriptorLimit(squid?: number): number {
  try {
    const limits = readFileSync(`/proc/${squid ?? 'self'}/limits`, 'latin1');
    const [, soft = '', hard = ''] = /^Max open files +(\S+) +(\S+)/m.exec(limits) ?? [];
    const limit = squid === undefined ? hard : soft;
    return limit === 'unlimited'
      ? maxDescriptors
      : Math.min(Number(limit) || fewDescriptors, maxDescriptors);
  } catch {
    return fewDescriptors;
  }
}

/**
 * The caps of a process with this many descriptors. An admitted connection takes two, its own and
 * that of the destination. A few are reserved for ports, health checks, the control plane, the
 * journal and name servers.
 */
export function connectionCaps(
  settings: CapSettings,
  descriptors = descriptorLimit(),
): ConnectionCaps {
  const reserve = Math.min(256 + Math.floor(descriptors / 32), Math.floor(descriptors / 2));
  const free = descriptors - reserve;
  const eighth = Math.max(1, Math.floor(free / 8));
  const carried = Math.max(1, Math.floor((free - eighth) / 2));
  const all = Math.min(settings.all ?? carried, carried);
  const part = (setting: number | undefined, share: number) =>
    Math.min(setting ?? Math.max(1, Math.floor(all / share)), all);
  return {
    all,
    account: part(settings.account, 4),
    user: part(settings.user, 8),
    address: part(settings.address, 8),
    waiting: Math.min(eighth, all),
  };
}

/**
 * How many connections of one address are accepted. Those above the cap get a response with the
 * reason; further ones are closed without a response.
 */
export function maxAccepted({ address }: Pick<ConnectionCaps, 'address'>): number {
  return address + Math.max(16, Math.floor(address / 8));
}

/** Counts how often each name occurs. */
export class Tally {
  readonly #counts = new Map<string, number>();

  of(name: string): number {
    return this.#counts.get(name) ?? 0;
  }

  add(name: string, change: 1 | -1): void {
    const count = this.of(name) + change;
    if (count > 0) this.#counts.set(name, count);
    else this.#counts.delete(name);
  }
}

/** Connections with an admitted request, by address and authority; never more than the caps. */
export class CappedConnections {
  caps: ConnectionCaps | undefined;
  readonly #namesOf = new Map<string, readonly string[]>();
  readonly #tally = new Tally();

  /** Without `caps` there is no limit. */
  constructor(caps?: ConnectionCaps) {
    this.caps = caps;
  }

  get size(): number {
    return this.#namesOf.size;
  }

  names(): IterableIterator<string> {
    return this.#namesOf.keys();
  }

  has(connection: string): boolean {
    return this.#namesOf.has(connection);
  }

  /** Counts an open connection, whatever the caps are. */
  count(connection: string, source: string, authority: Authority): void {
    if (authority.by !== 'probe') this.#count(connection, countedNames(source, authority));
  }

  /**
   * Counts a connection, or assigns it to a new owner. `refused`: it would be one too many, and
   * nothing changed. `near`: at least half of a cap is used. The node's own checks always pass.
   */
  admit(connection: string, source: string, authority: Authority): 'admitted' | 'near' | 'refused' {
    if (authority.by === 'probe') return 'admitted';
    const names = countedNames(source, authority);
    const before = this.#namesOf.get(connection);
    if (before?.every((name, index) => name === names[index])) return 'admitted';
    if (this.#exceeds(names, before)) return 'refused';
    this.#count(connection, names);
    return this.#isNear(names) ? 'near' : 'admitted';
  }

  /** Whether one more would be too many. */
  isFullFor(source: string, authority: Authority): boolean {
    return authority.by !== 'probe' && this.#exceeds(countedNames(source, authority));
  }

  close(connection: string): void {
    const names = this.#namesOf.get(connection);
    if (!names) return;
    this.#namesOf.delete(connection);
    for (const name of names) this.#tally.add(name, -1);
  }

  #count(connection: string, names: readonly string[]): void {
    this.close(connection);
    this.#namesOf.set(connection, names);
    for (const name of names) this.#tally.add(name, 1);
  }

  #isNear(names: readonly string[]): boolean {
    const { caps } = this;
    if (!caps) return false;
    if (2 * this.size >= caps.all) return true;
    return names.some((name, index) => 2 * this.#tally.of(name) >= (capOf(caps, index) ?? 0));
  }

  #exceeds(names: readonly string[], before: readonly string[] = []): boolean {
    const { caps } = this;
    if (!caps) return false;
    if (before.length === 0 && this.size >= caps.all) return true;
    return names.some(
      (name, index) => before[index] !== name && this.#tally.of(name) >= (capOf(caps, index) ?? 0),
    );
  }
}

type Owner = Exclude<Authority, { by: 'probe' }>;

function countedNames(source: string, { account, user }: Owner): readonly string[] {
  const networks = clientNetworks(source).map(({ name }) => `from ${name}`);
  return [`${account}`, `${account} ${user}`, ...networks];
}

/** In the order of `countedNames`. */
function capOf({ account, user, address }: ConnectionCaps, index: number): number | undefined {
  return [account, user, address, 2 * address, 4 * address][index];
}
