// Counts the connections and source addresses of users with limits on them. Those at other parts of
// the node, and at other nodes, are heard of every few seconds.
import { clientNetworks } from '../../kit/src/client_networks.ts';
import type {
  HeldElsewhere,
  Holding as Reported,
  UserLimits,
} from '../../kit/src/node_interface.ts';
import type { Authority } from './policy/decision.ts';
import type { Reason } from './policy/denials.ts';
import type { Policy } from './policy/policy.ts';

type Owner = Exclude<Authority, { by: 'probe' }>;

/** The connections and addresses of one user, here or on the whole node. */
export interface Holding extends Reported {
  /** A connection was refused lately because of those elsewhere. */
  was_refused?: true;
}

/** Those of one user elsewhere: on other nodes, and in other parts of this one. */
export interface Elsewhere extends HeldElsewhere {
  /** The addresses at parts of this node that come after this part. */
  networks_behind?: string[];
}

interface Counted {
  /** By connection, the oldest first: its network, if known. */
  connections: Map<string, string | undefined>;
  /** When each was last used, in epoch seconds. */
  networks: Map<string, number>;
  /** When a connection was last let in, and refused because of others elsewhere. */
  admitted_at: number;
  refused_at: number;
}

/** How long an answer about other nodes is used. The control plane drops offline nodes, too. */
export const leaseSeconds = 45;
/** Longer lists of addresses are cut before they are reported. */
export const maxNetworksOfUser = 256;
const usualAddressSeconds = 300;
/** A user counts as here for this long after a connection, so that a report includes it. */
const latelySeconds = 2;

export const keyOf = ({ account, user }: { account: number; user: number }) => `${account} ${user}`;

export class UserCounts {
  readonly #policy: () => Policy;
  readonly #users = new Map<string, Counted>();
  readonly #keyOf = new Map<string, string>();
  #elsewhere: ReadonlyMap<string, Elsewhere> = new Map();

  /** `policy`: the current one. */
  constructor(policy: () => Policy) {
    this.#policy = policy;
  }

  /** Whether a connection is counted, or has to be. Costs one look-up if not. */
  isConcerned(connection: string, authority: Authority): boolean {
    if (this.#limitsOf(authority)) return true;
    return this.#keyOf.size > 0 && this.#keyOf.has(connection);
  }

  /**
   * Why one more connection would pass a limit of the user. `connection`: its name, if it is open.
   * `ending`: how many of the user end before.
   */
  objectionTo(
    source: string,
    authority: Authority,
    now: number,
    connection = '',
    ending = 0,
  ): Reason | undefined {
    const limits = this.#limitsOf(authority);
    if (!limits || authority.by === 'probe') return undefined;
    const key = keyOf(authority);
    const counted = this.#users.get(key);
    const open = counted?.connections;
    const elsewhere = this.#elsewhere.get(key);
    const { connections = Number.POSITIVE_INFINITY } = limits;
    if (
      !open?.has(connection) &&
      (open?.size ?? 0) - ending + (elsewhere?.connections ?? 0) >= connections
    ) {
      return this.#refuse(key, elsewhere, 'too_many_connections', now);
    }
    const { addresses = Number.POSITIVE_INFINITY } = limits;
    const places = this.#places(limits, counted, elsewhere, now);
    const network = networkOf(source);
    const at = network === undefined ? 0 : places.indexOf(network);
    if ((at < 0 ? places.length : at) < addresses) return undefined;
    return this.#refuse(key, elsewhere, 'too_many_addresses', now);
  }

  /**
   * Counts a connection of a user with limits, or a further request on it. `now`: its address is
   * used at this time; undefined: `moved` reports when it was used.
   */
  admit(
    connection: string,
    source: string | undefined,
    authority: Authority,
    now: number | undefined,
  ): void {
    const limits = this.#limitsOf(authority);
    if (!limits) {
      // The connection may have been another user's.
      this.close(connection);
      return;
    }
    const owner = authority as Owner;
    const key = keyOf(owner);
    if (this.#keyOf.get(connection) !== key) this.close(connection);
    const counted = this.#countedOf(key);
    const network = source === undefined ? undefined : networkOf(source);
    this.#keyOf.set(connection, key);
    counted.connections.set(connection, network ?? counted.connections.get(connection));
    if (now !== undefined) counted.admitted_at = now;
    const isLimited = limits.addresses !== undefined;
    if (network !== undefined && now !== undefined && isLimited) counted.networks.set(network, now);
  }

  close(connection: string): void {
    const key = this.#keyOf.get(connection);
    if (key === undefined) return;
    this.#keyOf.delete(connection);
    this.#users.get(key)?.connections.delete(connection);
  }

  /** How many connections are counted. */
  get size(): number {
    return this.#keyOf.size;
  }

  /** The connections that are counted. */
  names(): IterableIterator<string> {
    return this.#keyOf.keys();
  }

  /** Notes when an open connection last carried a byte. */
  moved(connection: string, at: number): void {
    const counted = this.#users.get(this.#keyOf.get(connection) ?? '');
    const network = counted?.connections.get(connection);
    if (!counted || network === undefined) return;
    counted.networks.set(network, Math.max(counted.networks.get(network) ?? 0, at));
  }

  /** Replaces the holdings elsewhere. Users who are not in them hold nothing there. */
  share(elsewhere: readonly Elsewhere[]): void {
    this.#elsewhere = new Map(elsewhere.map((entry) => [keyOf(entry), entry]));
  }

  /** The holdings of users with limits here. */
  held(now: number): Holding[] {
    const holdings: Holding[] = [];
    for (const [key, counted] of this.#users) {
      const [account = 0, user = 0] = key.split(' ').map(Number);
      const limits = this.#limitsOf({ account, user });
      const networks = limits ? this.#usedLately(limits, counted, now) : [];
      const areUsed = new Set(networks);
      for (const network of counted.networks.keys()) {
        if (!areUsed.has(network)) counted.networks.delete(network);
      }
      const connections = counted.connections.size;
      const was_refused = isLately(counted.refused_at, now);
      const isHere = connections > 0 || networks.length > 0 || isLately(counted.admitted_at, now);
      if (!isHere && !was_refused) this.#users.delete(key);
      else if (limits) {
        const cut = networks.slice(0, maxNetworksOfUser);
        const holding = { account, user, connections, networks: cut };
        holdings.push({ ...holding, ...(was_refused && { was_refused }) });
      }
    }
    return holdings;
  }

  /**
   * The connections that exceed a limit together with those elsewhere, the newest. `except`: keys
   * of users that are left out.
   */
  excess(
    now: number,
    except: ReadonlySet<string> = new Set(),
  ): Array<{ connection: string; reason: Reason }> {
    const excess: Array<{ connection: string; reason: Reason }> = [];
    for (const [key, counted] of this.#users) {
      const [account = 0, user = 0] = key.split(' ').map(Number);
      const limits = this.#limitsOf({ account, user });
      if (!limits || except.has(key)) continue;
      const elsewhere = this.#elsewhere.get(key);
      const places = this.#places(limits, counted, elsewhere, now);
      const holders = new Set(places.slice(0, limits.addresses));
      let room = (limits.connections ?? Number.POSITIVE_INFINITY) - (elsewhere?.ahead ?? 0);
      for (const [connection, network] of counted.connections) {
        // An address that is idle for longer than the window does not count.
        const isCounted = network !== undefined && places.includes(network);
        if (isCounted && !holders.has(network)) {
          excess.push({ connection, reason: 'too_many_addresses' });
        } else if (room > 0) room -= 1;
        else excess.push({ connection, reason: 'too_many_connections' });
      }
    }
    return excess;
  }

  /** The addresses that are used now, in the order in which they came. */
  #places(
    limits: UserLimits,
    counted: Counted | undefined,
    elsewhere: Elsewhere | undefined,
    now: number,
  ): string[] {
    if (limits.addresses === undefined) return [];
    const here = counted ? this.#usedLately(limits, counted, now) : [];
    const { networks = [], networks_behind = [] } = elsewhere ?? {};
    return [...new Set([...networks, ...here, ...networks_behind])];
  }

  #usedLately({ addresses, address_seconds }: UserLimits, { networks }: Counted, now: number) {
    if (addresses === undefined) return [];
    const since = now - (address_seconds ?? usualAddressSeconds);
    // The clock may have been set back.
    for (const [network, at] of networks) if (at > now) networks.set(network, now);
    return Array.from(networks).flatMap(([network, at]) => (at > since ? [network] : []));
  }

  /**
   * Notes a refusal because of holdings elsewhere, which may have changed, so they are asked soon.
   */
  #refuse(key: string, elsewhere: Elsewhere | undefined, reason: Reason, now: number): Reason {
    if (elsewhere) this.#countedOf(key).refused_at = now;
    return reason;
  }

  #countedOf(key: string): Counted {
    const never = Number.NEGATIVE_INFINITY;
    const counted = this.#users.get(key) ?? {
      ...{ connections: new Map(), networks: new Map() },
      ...{ admitted_at: never, refused_at: never },
    };
    this.#users.set(key, counted);
    return counted;
  }

  /** Undefined if neither connections nor addresses of this user are limited. */
  #limitsOf(of: Authority | { account: number; user: number }): UserLimits | undefined {
    if ('by' in of && of.by === 'probe') return undefined;
    const limits = this.#policy().accounts.get(of.account)?.users.get(of.user)?.limits;
    if (limits?.connections === undefined && limits?.addresses === undefined) return undefined;
    return limits;
  }
}

/**
 * The holdings elsewhere for one part of a node. `before`, `after`: the holdings of the parts that
 * come before and after it.
 */
export function withOthers(
  elsewhere: readonly Elsewhere[],
  before: readonly Holding[],
  after: readonly Holding[],
): Elsewhere[] {
  const sums = new Map(elsewhere.map((entry) => [keyOf(entry), { ...entry }]));
  const sumOf = (holding: Holding) => {
    const { account, user } = holding;
    const none = { account, user, connections: 0, ahead: 0, networks: [] };
    const sum: Elsewhere = sums.get(keyOf(holding)) ?? none;
    sums.set(keyOf(holding), sum);
    sum.connections += holding.connections;
    return sum;
  };
  for (const holding of before) {
    const sum = sumOf(holding);
    sum.ahead += holding.connections;
    sum.networks = [...new Set([...sum.networks, ...holding.networks])];
  }
  for (const holding of after) {
    const sum = sumOf(holding);
    sum.networks_behind = [...(sum.networks_behind ?? []), ...holding.networks];
  }
  return [...sums.values()];
}

/** The holdings of several parts of a node together. */
export function sumOfHoldings(holdings: readonly Holding[]): Holding[] {
  const sums = new Map<string, Holding>();
  for (const holding of holdings) {
    const sum = sums.get(keyOf(holding));
    if (!sum) {
      sums.set(keyOf(holding), holding);
      continue;
    }
    const was_refused = sum.was_refused || holding.was_refused;
    sums.set(keyOf(holding), {
      ...sum,
      connections: sum.connections + holding.connections,
      networks: [...new Set([...sum.networks, ...holding.networks])].slice(0, maxNetworksOfUser),
      ...(was_refused && { was_refused }),
    });
  }
  return [...sums.values()];
}

const isLately = (at: number, now: number) => at <= now && now - at < latelySeconds;

/** Undefined: it is not an address. */
function networkOf(source: string): string | undefined {
  return source === '' ? undefined : clientNetworks(source)[0]?.name;
}
