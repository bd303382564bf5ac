// The account API as a small model in memory, written from the rulings alone: what each call must
// answer.

export type Variant = 'current' | 'earlier';
export type ListName = 'authlist' | 'overrides';

/** The response that one call must get: `body` is left out where only the status is promised. */
export interface Expected {
  status: number;
  body?: unknown;
  location?: string;
}

export interface Call {
  variant: Variant;
  readOnly: boolean;
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Below /v0. */
  path: string;
  /** The address that it comes from. */
  from: string;
  query: Record<string, string>;
  body: Record<string, unknown> | undefined;
  idempotencyKey: string | undefined;
}

interface Listed {
  id: number;
  ip: string;
  user: string;
  expiry: number;
  /** Whether its address asked for it. */
  proven: boolean;
}

interface Overridden {
  id: number;
  server: string;
  hostname: string;
  ip: string;
  expiry: number;
  /** The step of its last change. */
  changedAt: number;
  /** The step at which the nodes heard of its end. */
  endedAt: number | undefined;
}

export interface User {
  id: number;
  name: string;
  display_name: string;
  active: boolean;
  flags: { proxy: boolean; billing: boolean; admin: boolean };
  token_version: number;
}

export interface Account {
  name: string;
  plan: string;
  scheme: string;
  start: number;
  expiry: number;
  limit: number;
  suspended: boolean;
  users: User[];
  /** Servers on the contract, and the step at which each was added. */
  servers: Map<string, number>;
  authlist: Listed[];
  /** The addresses that changes came from since the last sweep. */
  callers: Set<string>;
  overrides: Overridden[];
  lastId: Record<ListName, number>;
  kept: Map<string, { request: string; at: number; answer: Expected }>;
}

export interface Node {
  /** The step up to which it has applied everything. */
  applied: number;
  live: boolean;
  seen: number;
}

export interface Server {
  name: string;
  hostname: string;
  title: string;
  ip: string;
  nodes: Node[];
  /** The revision that all its counted nodes have applied, as last heard. */
  applied: number;
}

const day = 86_400;
const longest = 10 * 365.25 * day;
const retention = 30 * day;
const lostSeconds = 45;

/** The same day and time some months later; the last day of a month that is too short. */
function monthsLater(start: number, months: number): number {
  const date = new Date(start * 1000);
  const dayOfMonth = date.getUTCDate();
  date.setUTCDate(1);
  date.setUTCMonth(date.getUTCMonth() + months + 1);
  date.setUTCDate(0);
  date.setUTCDate(Math.min(dayOfMonth, date.getUTCDate()));
  return date.getTime() / 1000;
}

const refuse = (status: number): Expected => ({ status });

export class Model {
  now: number;
  step = 0;
  #givenId = 0;
  readonly accounts: Account[];
  readonly servers: Server[];

  constructor(now: number, accounts: Account[], servers: Server[]) {
    this.now = now;
    this.accounts = accounts;
    this.servers = servers;
  }

  // ---- What happens beside calls --------------------------------------------------------

  /**
   * The work of the jobs: nodes hear of ends, lost ones no longer count, old entries go, callers
   * prove theirs.
   */
  sweep(): void {
    for (const account of this.accounts) {
      for (const override of account.overrides) {
        if (this.now >= override.expiry) override.endedAt ??= this.step;
      }
      account.overrides = account.overrides.filter(
        (override) => this.now < override.expiry + retention,
      );
      account.authlist = account.authlist.filter((entry) => this.now < entry.expiry);
      for (const entry of account.authlist) entry.proven ||= account.callers.has(entry.ip);
      account.callers.clear();
    }
    for (const server of this.servers) {
      let changed = false;
      for (const node of server.nodes) {
        if (node.live && this.now - node.seen > lostSeconds) {
          node.live = false;
          changed = true;
        }
      }
      if (changed) this.#evaluate(server);
    }
  }

  acknowledge(server: Server, node: Node, step: number): void {
    Object.assign(node, { applied: step, live: true, seen: this.now });
    this.#evaluate(server);
  }

  /** Live nodes count; where none is live, all do. */
  #evaluate(server: Server): void {
    const live = server.nodes.filter((node) => node.live);
    const counted = live.length > 0 ? live : server.nodes;
    server.applied = Math.min(...counted.map((node) => node.applied));
  }

  // ---- Calls ----------------------------------------------------------------------------

  /**
   * The response that a call must get. `givenId` is the id that a created entry was given: any
   * above all ids of its list will do, since refused requests may use one up.
   */
  call(account: Account, call: Call, givenId = 0): Expected {
    this.#givenId = givenId;
    const { path, variant } = call;
    const own = variant === 'current' ? 'ip-authlist' : 'whitelist';
    const [, first, second, third] = path.split('/');
    if (path === '/contract') return this.#contract(account);
    if (path === '/users')
      return variant === 'earlier'
        ? refuse(404)
        : { status: 200, body: account.users.filter((user) => user.active) };
    if (path === '/users/token')
      return variant === 'earlier'
        ? refuse(404)
        : this.#write(account, call, () => this.#token(account, call));
    if (first !== 'contract') return refuse(404);
    if (second === 'servers') return this.#contractServers(account, call, third);
    if (second === 'overrides') return this.#list(account, call, 'overrides', third);
    return second === own ? this.#list(account, call, 'authlist', third) : refuse(404);
  }

  #contract({ name, plan, start, expiry, limit }: Account): Expected {
    let months = 0;
    while (monthsLater(start, months + 1) <= this.now) months += 1;
    const [from, end] = [monthsLater(start, months), monthsLater(start, months + 1)];
    return {
      status: 200,
      body: {
        name,
        plan,
        period: { start: from, end, usage: 0, limit },
        expiry,
      },
    };
  }

  #contractServers(account: Account, { query, variant }: Call, name: string | undefined): Expected {
    const show = ({ name: server, hostname, title, ip }: Server) => ({
      server,
      hostname,
      ...(variant === 'current' ? { title } : {}),
      services: variant === 'current' ? ['proxy', 'proxy-https', 'vpn-ikev2'] : ['proxy', 'vpn'],
      ips: [{ ip, port_base: 1, status: 'unknown', status_time: 0 }],
    });
    const mine = this.servers.filter((server) => account.servers.has(server.name));
    if (name !== undefined) {
      const server = this.servers.find((server) => server.name === name);
      if (!server) return refuse(404);
      return mine.includes(server) ? { status: 200, body: show(server) } : refuse(403);
    }
    const wanted = query.server?.split(',');
    return {
      status: 200,
      body: mine.filter((server) => !wanted || wanted.includes(server.name)).map(show),
    };
  }

  #token(account: Account, { body }: Call): Expected {
    const wanted = body?.user;
    const named = account.users.find((user) => user.name === wanted);
    const user = named ?? account.users.find((user) => String(user.id) === String(wanted));
    return user?.active && user.flags.proxy ? { status: 200 } : refuse(409);
  }

  /** 403, then a cached response, then the action; a success is kept under its key. */
  #write(account: Account, call: Call, action: () => Expected): Expected {
    if (call.readOnly || account.suspended || this.now >= account.expiry) return refuse(403);
    account.callers.add(call.from);
    if (call.idempotencyKey === undefined || call.method !== 'POST') return action();
    const request = JSON.stringify([call.path, call.body]);
    const stored = account.kept.get(call.idempotencyKey);
    if (stored && this.now < stored.at + day)
      return stored.request === request ? stored.answer : refuse(409);
    const answer = action();
    if (answer.status < 300)
      account.kept.set(call.idempotencyKey, { request, at: this.now, answer });
    return answer;
  }

  #list(account: Account, call: Call, list: ListName, idText: string | undefined): Expected {
    const held =
      list === 'authlist'
        ? account.authlist.filter((entry) => this.now < entry.expiry)
        : account.overrides.filter((override) => this.now < override.expiry + retention);
    const show = (entry: Listed | Overridden) =>
      list === 'authlist'
        ? this.#showListed(account, entry as Listed)
        : this.#showOverridden(account, entry as Overridden);
    if (idText === undefined) {
      if (call.method === 'GET') return this.#filtered(call, list, held, show);
      if (call.method === 'POST') {
        return this.#write(account, call, () =>
          list === 'authlist'
            ? this.#createListed(account, call)
            : this.#createOverridden(account, call),
        );
      }
      return this.#write(account, call, () => {
        account[list] = [];
        return { status: 204 };
      });
    }
    const entry = held.find((candidate) => String(candidate.id) === idText);
    if (!entry) return refuse(404);
    if (call.method === 'GET') return { status: 200, body: show(entry) };
    if (call.method === 'DELETE') {
      return this.#write(account, call, () => {
        account[list] = (account[list] as Array<{ id: number }>).filter(
          (candidate) => candidate !== entry,
        ) as never;
        return { status: 204 };
      });
    }
    return this.#write(account, call, () => {
      const refusal =
        list === 'authlist'
          ? this.#changeListed(account, entry as Listed, call)
          : this.#changeOverridden(account, entry as Overridden, call);
      return refusal ?? { status: 200, body: show(entry) };
    });
  }

  #filtered(
    { query }: Call,
    list: ListName,
    held: Array<Listed | Overridden>,
    show: (entry: Listed | Overridden) => unknown,
  ): Expected {
    const { ip, user, server } = query;
    const users = user?.split(',');
    const servers = server?.split(',');
    const isFull = ip !== undefined && /^\d+\.\d+\.\d+\.\d+$/.test(ip);
    if (list === 'overrides' && ip !== undefined && !isFull) return refuse(400);
    const matching = held.filter(
      (entry) =>
        (ip === undefined || (isFull ? entry.ip === ip : entry.ip.includes(ip))) &&
        (!users || users.includes((entry as Listed).user)) &&
        (!servers || servers.includes((entry as Overridden).server)),
    );
    return { status: 200, body: matching.sort((a, b) => a.id - b.id).map(show) };
  }

  #nextId({ lastId }: Account, list: ListName): number {
    lastId[list] = Math.max(this.#givenId, lastId[list] + 1);
    return lastId[list];
  }

  #expiryHolds(expiry: unknown): boolean {
    return typeof expiry === 'number' && this.now < expiry && expiry <= this.now + longest;
  }

  // ---- The authlist -----------------------------------------------------------------------

  #showListed(account: Account, { id, ip, user, expiry }: Listed) {
    const { active, flags } = account.users.find((candidate) => candidate.name === user) as User;
    return { id, ip, user, user_active: active && flags.proxy, expiry };
  }

  /**
   * Whether a live claim of anybody on the same port scheme holds the address. For a proven entry
   * an unproven one of another account is taken off its list.
   */
  #isClaimed(account: Account, ip: string, isProven: boolean, but?: Listed): boolean {
    for (const other of this.accounts) {
      const holder = other.authlist.find(
        (entry) => entry !== but && entry.ip === ip && this.now < entry.expiry,
      );
      if (!holder || other.scheme !== account.scheme) continue;
      if (other === account || holder.proven || !isProven) return true;
      other.authlist = other.authlist.filter((entry) => entry !== holder);
    }
    return false;
  }

  #createListed(account: Account, { body = {}, variant, from }: Call): Expected {
    const { ip = from, user, expiry } = body as unknown as Listed;
    if (!this.#expiryHolds(expiry)) return refuse(400);
    const proven = ip === from;
    if (
      !account.users.some((candidate) => candidate.name === user) ||
      this.#isClaimed(account, ip, proven)
    )
      return refuse(409);
    const id = this.#nextId(account, 'authlist');
    const entry = { id, ip, user, expiry, proven };
    account.authlist.push(entry);
    const path = variant === 'current' ? 'ip-authlist' : 'whitelist';
    return {
      status: 201,
      body: this.#showListed(account, entry),
      location: `/contract/${path}/${id}`,
    };
  }

  #changeListed(account: Account, entry: Listed, { body = {}, from }: Call): Expected | undefined {
    const { ip = entry.ip, user = entry.user, expiry } = body as Partial<Listed>;
    if (Object.keys(body).length === 0) return refuse(400);
    if (expiry !== undefined && !this.#expiryHolds(expiry)) return refuse(400);
    const proven = ip === from || (ip === entry.ip && entry.proven);
    const isMoved = ip !== entry.ip;
    const isUser = account.users.some((candidate) => candidate.name === user);
    if (!isUser || (isMoved && this.#isClaimed(account, ip, proven, entry))) return refuse(409);
    Object.assign(entry, { ip, user, expiry: expiry ?? entry.expiry, proven });
    return undefined;
  }

  // ---- Custom DNS entries -------------------------------------------------------------------

  #showOverridden(
    account: Account,
    { id, server, hostname, ip, expiry, changedAt, endedAt }: Overridden,
  ) {
    const addedAt = account.servers.get(server);
    const { applied } = this.servers.find((candidate) => candidate.name === server) as Server;
    const isWanted = this.now < expiry;
    const isApplied =
      addedAt !== undefined &&
      applied >= Math.max(changedAt, addedAt) &&
      (endedAt === undefined || applied < endedAt);
    const status = isWanted
      ? isApplied
        ? 'active'
        : 'pending'
      : isApplied
        ? 'expiring'
        : 'expired';
    return { id, server, hostname, ip, expiry, status };
  }

  /** Whether a wanted entry of the account has the hostname on the server. */
  #isOverridden(account: Account, server: string, hostname: string, but?: Overridden): boolean {
    return account.overrides.some(
      (override) =>
        override !== but &&
        override.server === server &&
        override.hostname === hostname &&
        this.now < override.expiry,
    );
  }

  /**
   * An expired entry whose hostname is used again is ended for the nodes, if they did not hear of
   * it yet.
   */
  #endOthers(account: Account, server: string, hostname: string, but: Overridden): void {
    for (const override of account.overrides) {
      if (override !== but && override.server === server && override.hostname === hostname)
        override.endedAt ??= this.step;
    }
  }

  #createOverridden(account: Account, { body = {} }: Call): Expected {
    const { server, ip, expiry } = body as unknown as Overridden;
    const hostname = (body.hostname as string).toLowerCase();
    if (!this.#expiryHolds(expiry)) return refuse(400);
    if (!account.servers.has(server) || this.#isOverridden(account, server, hostname))
      return refuse(409);
    const id = this.#nextId(account, 'overrides');
    const entry = { id, server, hostname, ip, expiry, changedAt: this.step, endedAt: undefined };
    this.#endOthers(account, server, hostname, entry);
    account.overrides.push(entry);
    return {
      status: 201,
      body: this.#showOverridden(account, entry),
      location: `/contract/overrides/${id}`,
    };
  }

  #changeOverridden(
    account: Account,
    entry: Overridden,
    { body = {} }: Call,
  ): Expected | undefined {
    const { server = entry.server, ip = entry.ip, expiry } = body as Partial<Overridden>;
    const hostname = (body.hostname as string | undefined)?.toLowerCase() ?? entry.hostname;
    if (Object.keys(body).length === 0) return refuse(400);
    if (expiry !== undefined && !this.#expiryHolds(expiry)) return refuse(400);
    if (!account.servers.has(server)) return refuse(409);
    if (this.now >= (expiry ?? entry.expiry)) return refuse(409);
    if (this.#isOverridden(account, server, hostname, entry)) return refuse(409);
    this.#endOthers(account, server, hostname, entry);
    Object.assign(entry, {
      server,
      hostname,
      ip,
      expiry: expiry ?? entry.expiry,
      changedAt: this.step,
      endedAt: undefined,
    });
    return undefined;
  }
}
