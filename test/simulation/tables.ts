// The control plane's tables, read the plain way and at one moment: the records that each server is
// to get.
import { DatabaseSync } from 'node:sqlite';
import type { NodeRecord } from '../../agent/src/policy/records.ts';
import type { Position, ServerValue, UserLimits } from '../../kit/src/node_interface.ts';
import type { Secrets } from '../../server/src/keys/secrets.ts';

type Numbers<K extends string> = Record<K, number>;
interface Rows {
  servers: Array<{
    id: number;
    name: string;
    hostname: string;
    services: string;
    vpn_generation: number;
  }>;
  schemes: Array<{ server_id: number; id: number; name: string; bases: string }>;
  exits: Array<{ server_id: number; ip: string; port_base: number }>;
  drained: Array<Numbers<'server_id' | 'id'>>;
  on: Array<Numbers<'account_id' | 'server_id' | 'over_limit'>>;
  accounts: Array<
    Numbers<'id' | 'expiry' | 'suspended' | 'over_limit' | 'detailed_billing'> & {
      name: string;
      on_limit: string;
      port_scheme: string;
    }
  >;
  users: Array<
    Numbers<'account_id' | 'id' | 'active' | 'proxy' | 'token_version' | 'over_limit'> & {
      name: string;
      on_limit: string;
      address_seconds: number;
      services: string | null;
      server_ids: string | null;
    } & Record<'limit_bytes' | 'max_connections' | 'max_addresses' | 'active_until', number | null>
  >;
  authlist: Array<Numbers<'account_id' | 'id' | 'user_id' | 'expiry'> & { ip: string }>;
  overrides: Array<
    Numbers<'account_id' | 'id' | 'server_id' | 'expiry'> & { hostname: string; ip: string }
  >;
}

/** A "remove all" leaves the rows where they are, and takes their batch off the list. */
const isOnList = (list: string, row: string) => `(select b.removal_id from list_batches b
  where b.account_id = ${row}.account_id and b.list = '${list}' and b.up_to >= ${row}.id
  order by b.up_to limit 1) is null`;

const queries: Record<keyof Rows, string> = {
  servers: 'select * from servers order by id',
  schemes: `select s.server_id, p.* from server_port_schemes s
    join port_schemes p on p.id = s.port_scheme_id order by p.id`,
  exits: 'select * from exit_ips order by port_base',
  drained: 'select * from nodes where drained_at is not null and revoked_at is null order by id',
  on: 'select * from contract_servers',
  accounts: `select a.*, p.name as port_scheme from accounts a
    join port_schemes p on p.id = a.port_scheme_id`,
  users: 'select * from users',
  authlist: `select a.* from authlist a where ${isOnList('authlist', 'a')}`,
  overrides: `select o.* from overrides o where o.removed_revision is null and ${isOnList('overrides', 'o')}`,
};

/**
 * A list that an account emptied, or an account that was taken off a server, and from which
 * revision on.
 */
export interface Cleared {
  revision: number;
  kind: 'authlist' | 'override' | 'account';
  account: number;
  /** The server of it; null: all. */
  server: number | null;
}

export class Tables {
  readonly #db: DatabaseSync;
  readonly #secrets: Secrets;
  readonly #position;
  readonly #cleared;
  readonly #queries;

  constructor(file: string, secrets: Secrets) {
    this.#db = new DatabaseSync(file, { readOnly: true });
    this.#secrets = secrets;
    this.#position = this.#db.prepare('select epoch, revision from network');
    this.#cleared = this.#db.prepare(`select revision, account_id as account, server_id as server,
        case kind when 'authlist_cleared' then 'authlist' when 'overrides_cleared' then 'override' else kind end as kind
      from changes where revision > ? and kind in ('authlist_cleared', 'overrides_cleared', 'account')
      order by revision`);
    this.#queries = Object.entries(queries).map(
      ([name, sql]) => [name, this.#db.prepare(sql)] as const,
    );
  }

  position(): Position {
    return this.#position.get() as unknown as Position;
  }

  /**
   * The records that were emptied after a revision: the same transaction group may have filled them
   * again.
   */
  clearedAfter(revision: number): Cleared[] {
    return this.#cleared.all(revision) as unknown as Cleared[];
  }

  /** The records of each server, by its id. */
  read(): Map<number, NodeRecord[]> {
    this.#db.exec('begin');
    const rows = Object.fromEntries(
      this.#queries.map(([name, query]) => [name, query.all()]),
    ) as unknown as Rows;
    this.#db.exec('rollback');
    return new Map(
      rows.servers.map((server) => [
        server.id,
        [
          { kind: 'server', value: serverOf(server, rows, this.#secrets) },
          { kind: 'keys', value: this.#secrets.publicKeys() },
          ...accountsOf(server.id, rows),
        ],
      ]),
    );
  }

  close(): void {
    this.#db.close();
  }
}

function serverOf(
  { id, name, hostname, services, vpn_generation }: Rows['servers'][number],
  rows: Rows,
  secrets: Secrets,
): ServerValue {
  const hasVpn = /"vpn-/.test(services);
  return {
    name,
    hostname,
    services: JSON.parse(services),
    port_schemes: rows.schemes
      .filter(({ server_id }) => server_id === id)
      .map((scheme) => ({ name: scheme.name, bases: JSON.parse(scheme.bases) })),
    exit_ips: rows.exits
      .filter(({ server_id }) => server_id === id)
      .map(({ ip, port_base }) => ({ ip, port_base })),
    drained_nodes: rows.drained.filter(({ server_id }) => server_id === id).map((node) => node.id),
    ...(hasVpn ? { vpn_key: secrets.vpnKey({ id, vpn_generation }), vpn_generation } : {}),
  };
}

function* accountsOf(server_id: number, rows: Rows): Generator<NodeRecord> {
  for (const contract of rows.accounts) {
    const account = contract.id;
    const on = rows.on.find((row) => row.account_id === account && row.server_id === server_id);
    if (!on) continue;
    const isOver =
      contract.over_limit === 1 || (contract.detailed_billing === 1 && on.over_limit === 1);
    yield {
      kind: 'contract',
      account,
      value: {
        name: contract.name,
        expiry: contract.expiry,
        suspended: contract.suspended === 1,
        blocked: isOver && contract.on_limit === 'refuse',
        port_scheme: contract.port_scheme,
      },
    };
    for (const user of rows.users) {
      const { account_id, id, name, active, proxy, token_version } = user;
      if (account_id !== account) continue;
      const value = { name, active: active === 1, proxy: proxy === 1, token_version };
      const limits = limitsOf(user, server_id);
      yield { kind: 'user', account, id, value: limits ? { ...value, limits } : value };
    }
    for (const { account_id, id, ip, user_id: user, expiry } of rows.authlist) {
      if (account_id === account)
        yield { kind: 'authlist', account, id, value: { ip, user, expiry } };
    }
    for (const { account_id, id, server_id: at, hostname, ip, expiry } of rows.overrides) {
      if (account_id !== account || at !== server_id) continue;
      yield { kind: 'override', account, id, value: { hostname, ip, expiry } };
    }
  }
}

/** The limits that a server's nodes are to enforce; undefined: the user has none. */
function limitsOf(user: Rows['users'][number], server_id: number): UserLimits | undefined {
  const { max_connections: connections, max_addresses: addresses, active_until: until } = user;
  const { limit_bytes, address_seconds, services, server_ids, over_limit, on_limit } = user;
  const all = [connections, addresses, until, limit_bytes, services, server_ids];
  if (all.every((limit) => limit === null)) return undefined;
  const isHere = server_ids === null || JSON.parse(server_ids).includes(server_id);
  return {
    ...(connections !== null && { connections }),
    ...(addresses !== null && { addresses, address_seconds }),
    ...(until !== null && { until }),
    ...(services !== null && { services: JSON.parse(services) }),
    ...(!isHere && { not_here: true }),
    ...(over_limit === 1 && on_limit === 'refuse' && { over: true }),
  };
}
