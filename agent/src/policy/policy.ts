// The policy of a node, in memory: the records of its server, indexed so that no decision has to
// search.
import type {
  AuthlistValue,
  ContractValue,
  OverrideValue,
  PublicKey,
  ServerValue,
  UserLimits,
  UserValue,
} from '../../../kit/src/node_interface.ts';
import type { NodeRecord } from './records.ts';
import { TokenReader } from './tokens.ts';
import { Unreadable } from './unreadable.ts';

export interface User extends UserValue {
  id: number;
  limits: UserLimits | undefined;
  /**
   * Until this time (epoch seconds) the user is over the limit by this node's own count. The user's
   * next record resets it.
   */
  limit_reached_until: number;
}

/** One address of one account. Flat and small, since there may be a million. */
export interface AuthlistEntry {
  account: Account;
  id: number;
  ip: string;
  user: number;
  expiry: number;
}

export interface Override {
  id: number;
  hostname: string;
  ip: string;
  expiry: number;
}

/** A port that clients connect to, and what it stands for. */
export interface Listener {
  port: number;
  exit_ip: string;
  /** Name of the port scheme that the port belongs to. */
  scheme: string;
  /** Custom DNS applies here. */
  override: boolean;
  /** Clients speak TLS to the proxy here. */
  tls: boolean;
}

const overrideOffset = 500;

/** How many records of each kind a policy holds. */
export interface PolicySize {
  accounts: number;
  users: number;
  authlist: number;
  overrides: number;
}

export class Account {
  readonly id: number;
  /** Undefined until its record has come. */
  contract: ContractValue | undefined;
  /**
   * Until this time (epoch seconds) the account is over its limit by this node's own count. The
   * contract's next record resets it.
   */
  limit_reached_until = 0;
  readonly users = new Map<number, User>();
  readonly authlist = new Map<number, AuthlistEntry>();
  readonly overrides = new Map<number, Override>();
  readonly overridesByHostname = new Map<string, Override>();

  constructor(id: number) {
    this.id = id;
  }

  /** The users of this name, in any case. */
  usersNamed(name: string): User[] {
    return [...this.users.values()].filter((user) => folded(user.name) === folded(name));
  }
}

/** Phones begin a login with a capital letter. */
export const folded = (name: string) => name.toLowerCase();

export class Policy {
  server: ServerValue | null = null;
  keys: PublicKey[] = [];
  readonly tokens = new TokenReader();
  readonly unreadable = new Unreadable();
  readonly accounts = new Map<number, Account>();
  readonly #accountsByName = new Map<string, Set<Account>>();
  /** Epoch seconds when the control plane was last heard from; 0: never. */
  heard_at = 0;
  /** By port: where to listen. Replaced as a whole, so that it can be compared by identity. */
  listeners: ReadonlyMap<number, Listener> = new Map();
  /** Port scheme -> address -> the entry that claims it, or that outlasts the others. */
  readonly #addresses = new Map<string, Map<string, AuthlistEntry>>();
  /**
   * The other entries, by scheme and address. The control plane grants an address only once, but an
   * entry may arrive before the change that frees its address. Until then two claims overlap.
   */
  readonly #outlasted = new Map<string, Set<AuthlistEntry>>();

  /** Applies a record's new state. Applying it twice is harmless; unknown kinds are ignored. */
  apply(record: NodeRecord): void {
    this.unreadable.note(record);
    if (record.value === null && 'account' in record && !this.accounts.has(record.account)) return;
    switch (record.kind) {
      case 'server':
        this.server = record.value;
        this.listeners = record.value ? listenersOf(record.value) : new Map();
        return;
      case 'keys':
        this.tokens.replaceKeys(record.value);
        this.keys = record.value;
        return;
      case 'account':
        this.#dropAccount(record.account);
        return;
      case 'contract':
        this.#setContract(this.#account(record.account), record.value ?? undefined);
        this.#account(record.account).limit_reached_until = 0;
        return;
      case 'limit_reached': {
        const account = this.accounts.get(record.account);
        if (account) account.limit_reached_until = record.value?.until ?? 0;
        return;
      }
      case 'user_limit_reached': {
        const user = this.accounts.get(record.account)?.users.get(record.id);
        if (user) user.limit_reached_until = record.value?.until ?? 0;
        return;
      }
      case 'user':
        this.#setUser(this.#account(record.account), record.id, record.value);
        return;
      case 'authlist':
        this.#setEntry(this.#account(record.account), record.id, record.value);
        return;
      case 'authlist_cleared':
        this.#clearAuthlist(this.#account(record.account));
        return;
      case 'override':
        this.#setOverride(this.#account(record.account), record.id, record.value);
        return;
      case 'overrides_cleared': {
        const account = this.#account(record.account);
        account.overrides.clear();
        account.overridesByHostname.clear();
        return;
      }
    }
  }

  /** The accounts whose contract has this name, in any case. */
  accountsNamed(name: string): Iterable<Account> {
    return this.#accountsByName.get(folded(name)) ?? [];
  }

  /** The entry that claims an address on a port scheme; it may have expired. */
  findEntry(scheme: string, ip: string): AuthlistEntry | undefined {
    return this.#addresses.get(scheme)?.get(ip);
  }

  /** For metrics; with very many accounts it is too slow for decisions. */
  get size(): PolicySize {
    const size = { accounts: this.accounts.size, users: 0, authlist: 0, overrides: 0 };
    for (const { users, authlist, overrides } of this.accounts.values()) {
      size.users += users.size;
      size.authlist += authlist.size;
      size.overrides += overrides.size;
    }
    return size;
  }

  /** The whole policy as records. Applied to an empty policy, they recreate this one. */
  *records(): Generator<NodeRecord> {
    yield { kind: 'server', value: this.server };
    yield { kind: 'keys', value: this.keys };
    yield* this.unreadable.records();
    for (const content of this.accounts.values()) {
      const { id: account, contract, limit_reached_until: until } = content;
      const { users, authlist, overrides } = content;
      if (contract) yield { kind: 'contract', account, value: contract };
      if (until > 0) yield { kind: 'limit_reached', account, value: { until } };
      for (const { id, limit_reached_until: until, limits, ...value } of users.values()) {
        yield { kind: 'user', account, id, value: limits ? { ...value, limits } : value };
        if (until > 0) yield { kind: 'user_limit_reached', account, id, value: { until } };
      }
      for (const { id, ip, user, expiry } of authlist.values()) {
        yield { kind: 'authlist', account, id, value: { ip, user, expiry } };
      }
      for (const { id, ...value } of overrides.values()) {
        yield { kind: 'override', account, id, value };
      }
    }
  }

  #account(id: number): Account {
    let account = this.accounts.get(id);
    if (!account) {
      account = new Account(id);
      this.accounts.set(id, account);
    }
    return account;
  }

  #dropAccount(id: number): void {
    const account = this.accounts.get(id);
    if (!account) return;
    this.#clearAuthlist(account);
    this.#setContract(account, undefined);
    this.accounts.delete(id);
  }

  #setContract(account: Account, contract: ContractValue | undefined): void {
    const moves = account.contract?.port_scheme !== contract?.port_scheme;
    // Addresses are claimed per port scheme, so a new scheme moves the claims.
    if (moves) for (const entry of account.authlist.values()) this.#unclaim(entry);
    if (account.contract?.name !== contract?.name) this.#claimName(account, contract?.name);
    account.contract = contract;
    if (moves) for (const entry of account.authlist.values()) this.#claim(entry);
  }

  #claimName(account: Account, name: string | undefined): void {
    const before = folded(account.contract?.name ?? '');
    const others = this.#accountsByName.get(before);
    others?.delete(account);
    if (others?.size === 0) this.#accountsByName.delete(before);
    if (name === undefined) return;
    const named = this.#accountsByName.get(folded(name));
    if (named) named.add(account);
    else this.#accountsByName.set(folded(name), new Set([account]));
  }

  #setUser(account: Account, id: number, value: UserValue | null): void {
    if (!value) account.users.delete(id);
    // All users have the same fields, which makes access fast.
    else account.users.set(id, { limits: undefined, ...value, id, limit_reached_until: 0 });
  }

  #setEntry(account: Account, id: number, value: AuthlistValue | null): void {
    const before = account.authlist.get(id);
    if (before) {
      this.#unclaim(before);
      account.authlist.delete(id);
    }
    if (!value) return;
    const entry = { account, id, ip: value.ip, user: value.user, expiry: value.expiry };
    account.authlist.set(id, entry);
    this.#claim(entry);
  }

  #clearAuthlist(account: Account): void {
    for (const entry of account.authlist.values()) this.#unclaim(entry);
    account.authlist.clear();
  }

  #claim(entry: AuthlistEntry): void {
    const scheme = entry.account.contract?.port_scheme;
    if (scheme === undefined) return;
    let addresses = this.#addresses.get(scheme);
    if (!addresses) {
      addresses = new Map();
      this.#addresses.set(scheme, addresses);
    }
    const holder = addresses.get(entry.ip);
    const [holds, waits] = !holder || outlasts(entry, holder) ? [entry, holder] : [holder, entry];
    addresses.set(entry.ip, holds);
    if (!waits) return;
    const place = placeOf(scheme, entry.ip);
    const others = this.#outlasted.get(place);
    if (others) others.add(waits);
    else this.#outlasted.set(place, new Set([waits]));
  }

  #unclaim(entry: AuthlistEntry): void {
    const scheme = entry.account.contract?.port_scheme;
    if (scheme === undefined) return;
    const place = placeOf(scheme, entry.ip);
    const others = this.#outlasted.get(place);
    if (others?.delete(entry)) {
      if (others.size === 0) this.#outlasted.delete(place);
      return;
    }
    this.#addresses.get(scheme)?.delete(entry.ip);
    if (!others) return;
    this.#outlasted.delete(place);
    for (const other of others) this.#claim(other);
  }

  #setOverride(account: Account, id: number, value: OverrideValue | null): void {
    const before = account.overrides.get(id);
    if (before) {
      account.overrides.delete(id);
      if (account.overridesByHostname.get(before.hostname) === before) {
        account.overridesByHostname.delete(before.hostname);
        // Like claims on an address, two overrides of one hostname can overlap.
        if (account.overrides.size > account.overridesByHostname.size) {
          for (const other of account.overrides.values()) nameOverride(account, other);
        }
      }
    }
    if (!value) return;
    const override = { id, ...value };
    account.overrides.set(id, override);
    nameOverride(account, override);
  }
}

/** A key of both parts. An address has no space in it. */
function placeOf(scheme: string, ip: string): string {
  return `${ip} ${scheme}`;
}

/** Whether the first of two claims counts, regardless of the order in which they arrived. */
function outlasts(entry: AuthlistEntry, other: AuthlistEntry): boolean {
  return (
    (entry.expiry - other.expiry || entry.account.id - other.account.id || entry.id - other.id) > 0
  );
}

function nameOverride(account: Account, override: Override): void {
  const holder = account.overridesByHostname.get(override.hostname);
  if (holder && (holder.expiry - override.expiry || holder.id - override.id) > 0) return;
  account.overridesByHostname.set(override.hostname, override);
}

/** The ports that a server listens on, each with its meaning. */
function listenersOf(server: ServerValue): Map<number, Listener> {
  const listeners = new Map<number, Listener>();
  for (const scheme of server.port_schemes) {
    for (const { base, service } of scheme.bases) {
      const tls = service === 'proxy-https';
      if (!server.services.includes(service) || !(tls || service === 'proxy')) continue;
      for (const { ip: exit_ip, port_base } of server.exit_ips) {
        for (const override of [false, true]) {
          const port = base + port_base + (override ? overrideOffset : 0);
          listeners.set(port, { port, exit_ip, scheme: scheme.name, override, tls });
        }
      }
    }
  }
  return listeners;
}
