// Evaluates requests by docs/node.md in the slow, plain way: stores every record that came, and
// searches them all.
import type { PublicKey, ServerValue } from '../../kit/src/node_interface.ts';
import type { Allowed, Credentials, ProxyRequest, Rules } from '../src/policy/decision.ts';
import type { Reason } from '../src/policy/denials.ts';
import type { NodeRecord } from '../src/policy/records.ts';
import { isOnTheInternet, numberOf } from './special_networks.ts';

/** A token that the control plane issued, and its key. */
export interface Issued {
  key: PublicKey;
  account: number;
  user: number;
  token_version: number;
  expiry: number;
}

/** Facts that the oracle gets, and does not work out itself. */
export interface World {
  /** Every genuine token. */
  issued: ReadonlyMap<string, Issued>;
  /** The meaning of a destination: a hostname, an address, or invalid. */
  destinations: ReadonlyMap<string, { hostname: string } | { ip: string } | undefined>;
  /** The addresses that the operator allows, first and last. */
  allowed: ReadonlyArray<readonly [string, string]>;
}

type Of<K> = Extract<NodeRecord, { kind: K }>;
type Value<K> = NonNullable<Of<K>['value']>;
interface Known<K> {
  account: number;
  id: number;
  value: Value<K>;
}
type Listed = 'user' | 'authlist' | 'override';

interface Port {
  scheme: string;
  exit_ip: string;
  override: boolean;
}

interface Person {
  account: number;
  user: number;
  name: string;
  by: 'authlist' | 'token';
}

export type Evaluation =
  | { reason: Reason; dial?: string }
  | (Pick<Allowed, 'contract' | 'exit_ip' | 'dial' | 'override'> & {
      by: 'authlist' | 'token' | 'probe';
      account: number | undefined;
      user: number | undefined;
      name: string;
    });

/** A login to a VPN by its parts. */
export interface Attempt {
  service: string;
  user: string;
  account: string;
  expiry: number | null;
  exit_ip: string;
  made: { account: number; user: number; token_version: number; expiry: number | null } | undefined;
}

export class Oracle {
  readonly #records: NodeRecord[] = [];
  readonly #world: World;
  readonly #rules: Rules;
  heard_at = 0;

  constructor(world: World, rules: Rules) {
    this.#world = world;
    this.#rules = rules;
  }

  receive(record: NodeRecord): void {
    this.#records.push(record);
  }

  evaluate(request: ProxyRequest, now: number): Evaluation {
    const server = this.#newest('server');
    if (!server) return { reason: 'not_ready' };
    const port = portsOf(server).get(request.port);
    if (!port) return { reason: 'wrong_port' };

    const { probe } = this.#rules;
    const { user, password } = request.credentials ?? {};
    if (probe && user === '-probe' && password === probe.password) {
      const target = this.#world.destinations.get(request.host);
      const isTarget = target && 'ip' in target && target.ip === probe.host;
      if (!isTarget || request.destination_port !== probe.port) {
        return { reason: 'destination_refused' };
      }
      const nobody = { account: undefined, user: undefined, name: '', contract: '' };
      const { exit_ip } = port;
      return { ...nobody, by: 'probe', exit_ip, dial: undefined, override: undefined };
    }

    // The checks up to here are for new connections only.
    if (server.drained_nodes?.includes(this.#rules.node ?? 0)) return { reason: 'drained' };
    const person = this.#identify(request, port.scheme, now);
    if (typeof person === 'string') return { reason: person };
    const reason = this.#objectionTo(person, port.scheme, now, 'proxy');
    if (reason) return { reason };
    const where = this.#destination(request, person.account, port, now);
    if ('reason' in where) return where;
    const contract = this.#contract(person.account)?.name ?? '';
    return { ...person, ...where, contract, exit_ip: port.exit_ip };
  }

  /**
   * A login to a VPN with a password that was made for `made`; undefined: with another password.
   */
  evaluateLogin(
    login: Attempt,
    now: number,
  ): { reason: Reason } | { account: number; user: number } {
    const server = this.#newest('server');
    if (!server) return { reason: 'not_ready' };
    const isServed = server.services.includes(login.service);
    if (!isServed || !server.exit_ips.some(({ ip }) => ip === login.exit_ip)) {
      return { reason: 'no_service' };
    }
    if (server.drained_nodes?.includes(this.#rules.node ?? 0)) return { reason: 'drained' };
    const { made } = login;
    const user = this.#list('user').find(
      (record) => record.account === made?.account && record.id === made.user,
    )?.value;
    const contract = made && this.#contract(made.account);
    const isTheirs = contract?.name === login.account && user?.name === login.user;
    if (!made || !isTheirs || made.expiry !== login.expiry) return { reason: 'bad_token' };
    if (made.token_version !== user?.token_version) {
      const isOld = made.token_version + 1 === user?.token_version;
      return { reason: isOld ? 'old_token_version' : 'bad_token' };
    }
    if (made.expiry !== null && now >= made.expiry) return { reason: 'expired_token' };
    const person = { account: made.account, user: made.user, name: login.user };
    const scheme = contract?.port_scheme ?? '';
    const reason = this.#objectionTo(person, scheme, now, login.service);
    return reason ? { reason } : { account: made.account, user: made.user };
  }

  /**
   * Why a connection of this user, opened with this request, may not continue; undefined: it may.
   */
  faultOf(request: ProxyRequest, account: number, user: number, now: number): Reason | undefined {
    if (!this.#newest('server')) return 'not_ready';
    const contract = this.#contract(account);
    if (!contract) return 'server_not_on_contract';
    const person = this.#identify(request, contract.port_scheme, now);
    if (typeof person === 'string') return person;
    if (person.account !== account || person.user !== user) return 'unknown_address';
    return this.#objectionTo(person, contract.port_scheme, now, 'proxy');
  }

  /** The user of a request, or why it has none. */
  #identify(request: ProxyRequest, scheme: string, now: number): Person | Reason {
    return request.credentials === undefined
      ? this.#byAddress(request.source, scheme, now)
      : this.#byToken(request.credentials, now);
  }

  /** The objection to an identified user on a port of this scheme. */
  #objectionTo(
    person: Omit<Person, 'by'>,
    scheme: string,
    now: number,
    service: string,
  ): Reason | undefined {
    const contract = this.#contract(person.account);
    const user = this.#list('user').find(
      ({ account, id }) => account === person.account && id === person.user,
    )?.value;
    if (!contract) return 'server_not_on_contract';
    if (contract.suspended) return 'contract_suspended';
    if (!(now < contract.expiry)) return 'contract_expired';
    if (!user?.active) return 'inactive_user';
    if (!user.proxy) return 'no_proxy_flag';
    const { until = Number.POSITIVE_INFINITY, services = [service], ...limits } = user.limits ?? {};
    if (contract.blocked) return 'over_limit';
    if (contract.port_scheme !== scheme) return 'wrong_port';
    if (!user.limits) return undefined;
    if (!(now < until)) return 'user_expired';
    if (limits.not_here || !services.includes(service)) return 'not_for_user';
    return limits.over || now < this.#ownEnd(person) ? 'user_limit_reached' : undefined;
  }

  #byAddress(source: string, scheme: string, now: number): Person | Reason {
    const from = numberOf(source);
    const claims = this.#list('authlist')
      .filter(({ value }) => from !== undefined && numberOf(value.ip) === from)
      .filter(({ account }) => this.#contract(account)?.port_scheme === scheme)
      .filter(({ value }) => now < value.expiry);
    const claim = lastToEnd(claims);
    if (!claim) return 'unknown_address';
    const { staleness_seconds } = this.#rules;
    const isRecent = isBetween(
      now - staleness_seconds + 1,
      this.heard_at,
      now + staleness_seconds - 1,
    );
    if (!isRecent) return 'stale';
    const { account } = claim;
    const user = claim.value.user;
    const named = this.#list('user').find((row) => row.account === account && row.id === user);
    return named ? { account, user, name: named.value.name, by: 'authlist' } : 'unknown_address';
  }

  #byToken(given: Credentials | null, now: number): Person | Reason {
    const issued = this.#world.issued.get(given?.password ?? '');
    const token = given?.claims ?? issued;
    const genuine = (this.#newest('keys') ?? []).some(({ kid, public_key }) =>
      given?.claims
        ? kid === given.claims.kid
        : kid === issued?.key.kid && public_key === issued.key.public_key,
    );
    if (!given || !token || !genuine) return 'bad_token';
    const { account, user } = token;
    if (!(now < token.expiry)) return 'expired_token';
    if (!this.#contract(account)) return 'server_not_on_contract';
    const named = this.#list('user').find((row) => row.account === account && row.id === user);
    if (!named) return 'bad_token';
    const { name, token_version } = named.value;
    if (token.token_version !== token_version) return 'old_token_version';
    return name === given.user ? { account, user, name, by: 'token' } : 'bad_token';
  }

  #destination(
    { host, destination_port, method }: ProxyRequest,
    of: number,
    { override: onOverridePort, exit_ip }: Port,
    now: number,
  ):
    | { dial: string | undefined; override: number | undefined }
    | { reason: Reason; dial?: string } {
    const ranges = method === 'CONNECT' ? this.#rules.connect_ports : this.#rules.http_ports;
    const target = this.#world.destinations.get(host);
    if (!target || !ranges.some((range) => isBetween(range.first, destination_port, range.last))) {
      return { reason: 'destination_refused' };
    }
    const hostname = 'hostname' in target ? target.hostname : undefined;
    const overrides = this.#list('override')
      .filter(({ account }) => onOverridePort && account === of)
      .filter(({ value }) => value.hostname === hostname && now < value.expiry);
    const override = lastToEnd(overrides);
    const ip = override?.value.ip ?? ('ip' in target ? target.ip : undefined);
    const at = override ? { dial: override.value.ip } : {};
    if (ip !== undefined && !this.#mayReach(ip)) return { reason: 'destination_refused', ...at };
    if (ip !== undefined && ip.includes(':') !== exit_ip.includes(':')) {
      return { reason: 'other_family', ...at };
    }
    return { dial: override?.value.ip, override: override?.id };
  }

  #mayReach(ip: string): boolean {
    const number = numberOf(ip);
    const isAllowed = this.#world.allowed.some(([first, last]) =>
      isBetween(numberOf(first), number, numberOf(last)),
    );
    const exits = this.#newest('server')?.exit_ips.map((exit) => exit.ip) ?? [];
    const isOwn = [...exits, ...(this.#rules.own_addresses ?? [])].some(
      (exit) => numberOf(exit) === number,
    );
    return isAllowed || (isOnTheInternet(ip) && !isOwn);
  }

  // ---- The records --------------------------------------------------------------------------

  #contract(account: number): Value<'contract'> | undefined {
    const last = this.#records.findLast(
      (record) =>
        (record.kind === 'contract' || record.kind === 'account') && record.account === account,
    );
    return last?.kind === 'contract' ? (last.value ?? undefined) : undefined;
  }

  /** Until when the user is over the limit by the node's own count; the next record ends this. */
  #ownEnd({ account, user }: Pick<Person, 'account' | 'user'>): number {
    const last = this.#records.findLast((record) => {
      if (!('account' in record) || record.account !== account) return false;
      const isOf = record.kind === 'user' || record.kind === 'user_limit_reached';
      return record.kind === 'account' || (isOf && record.id === user);
    });
    return last?.kind === 'user_limit_reached' ? (last.value?.until ?? 0) : 0;
  }

  #newest<K extends 'server' | 'keys'>(kind: K): Value<K> | undefined {
    const last = this.#records.findLast((record) => record.kind === kind);
    return (last?.value ?? undefined) as Value<K> | undefined;
  }

  /** All records of a kind, of every account. */
  #list<K extends Listed>(kind: K): Array<Known<K>> {
    const cleared = kind === 'authlist' ? 'authlist_cleared' : 'overrides_cleared';
    return this.#records.flatMap((record, at) => {
      if (record.kind !== kind || record.value === null) return [];
      const { account, id, value } = record as Of<Listed>;
      const isOver = this.#records.slice(at + 1).some((later) => {
        if (!('account' in later) || later.account !== account) return false;
        if (later.kind === 'account') return true;
        if (later.kind === cleared) return kind !== 'user';
        return later.kind === kind && (later as Of<Listed>).id === id;
      });
      return isOver ? [] : [{ account, id, value } as Known<K>];
    });
  }
}

function isBetween<T>(first: T, value: T, last: T): boolean {
  return first <= value && value <= last;
}

/**
 * Of records that contradict each other for a moment, the one that expires last; then the highest
 * id.
 */
function lastToEnd<K extends 'authlist' | 'override'>(of: Array<Known<K>>): Known<K> | undefined {
  const order = (record: Known<K>) => [record.value.expiry, record.account, record.id];
  return of.toSorted((a, b) => compare(order(a), order(b))).at(-1);
}

function compare(a: number[], b: number[]): number {
  const at = a.findIndex((value, index) => value !== b[index]);
  return at < 0 ? 0 : (a[at] as number) - (b[at] as number);
}

/** The meaning of each port of the server: base + port_base, and 500 more for the override port. */
function portsOf(server: ServerValue): Map<number, Port> {
  const ports = server.port_schemes.flatMap(({ name: scheme, bases }) =>
    bases
      .filter(({ service }) => service === 'proxy' || service === 'proxy-https')
      .filter(({ service }) => server.services.includes(service))
      .flatMap(({ base }) =>
        server.exit_ips.flatMap(
          ({ ip: exit_ip, port_base }): Array<[number, Port]> => [
            [base + port_base, { scheme, exit_ip, override: false }],
            [base + port_base + 500, { scheme, exit_ip, override: true }],
          ],
        ),
      ),
  );
  return new Map(ports);
}
