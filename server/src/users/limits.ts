// Limits of a user, all optional: bytes in a billing period, connections and source addresses at
// once, an end, and the services and servers that the user may use.
import { vpnServices } from '../../../kit/src/vpn_password.ts';
import type { Reader } from '../db/database.ts';
import { requireServerOfBody, serverNames } from '../servers/servers.ts';
import { storedList } from '../values/stored_json.ts';
import type * as store from './store.ts';

/** The services that a user may be limited to; `proxy`: over TLS, too. */
export const userServices = ['proxy', ...vpnServices] as const;
export type UserService = (typeof userServices)[number];

export const maxServers = 1000;
export const maxAddresses = 256;
export const minAddressSeconds = 60;
export const maxAddressSeconds = 600;

/** The limits as people see them, with lists and with servers by name. Null: no limit. */
export interface UserLimits extends Omit<store.LimitColumns, 'services' | 'server_ids'> {
  services: UserService[] | null;
  /** Names of servers of the network; empty: none. */
  servers: string[] | null;
}

export type LimitChanges = { [Limit in keyof UserLimits]?: UserLimits[Limit] | undefined };

export const noLimits: store.LimitColumns = {
  limit_bytes: null,
  on_limit: 'refuse',
  max_connections: null,
  max_addresses: null,
  address_seconds: 300,
  active_until: null,
  services: null,
  server_ids: null,
};

/** Whether the user has any limit. */
export function hasLimits(user: store.LimitColumns): boolean {
  const { limit_bytes, max_connections, max_addresses, active_until, services, server_ids } = user;
  const limits = [limit_bytes, max_connections, max_addresses, active_until, services, server_ids];
  return limits.some((limit) => limit !== null);
}

/** The services that the user is limited to; null: any. */
export function servicesOfUser({ services }: store.LimitColumns): UserService[] | null {
  return services === null
    ? null
    : storedList(services, (value): value is UserService =>
        userServices.includes(value as UserService),
      );
}

const serverIdsOf = ({ server_ids }: store.LimitColumns): number[] | null =>
  server_ids === null
    ? null
    : storedList(server_ids, (value): value is number => Number.isSafeInteger(value));

/** Whether the user may use a server, as far as the user's limits go. */
export function mayUseServer(user: store.LimitColumns, server_id: number): boolean {
  return serverIdsOf(user)?.includes(server_id) ?? true;
}

/**
 * Returns a function that answers the limits of each of these users, with the names of their
 * servers. Servers that were removed from the network are left out.
 */
export async function limitsOfUsers(db: Reader, users: readonly store.LimitColumns[]) {
  const names = await serverNames(
    db,
    users.flatMap((user) => serverIdsOf(user) ?? []),
  );
  return (user: store.LimitColumns): UserLimits => ({
    limit_bytes: user.limit_bytes,
    on_limit: user.on_limit,
    max_connections: user.max_connections,
    max_addresses: user.max_addresses,
    address_seconds: user.address_seconds,
    active_until: user.active_until,
    services: servicesOfUser(user),
    servers: serverIdsOf(user)?.flatMap((id) => names.get(id) ?? []) ?? null,
  });
}

/**
 * The limits of a user after these changes; null: without any. Errors: 409 naming a server that
 * does not exist.
 */
export async function changedLimits(
  db: Reader,
  before: store.LimitColumns,
  changes: LimitChanges | null,
): Promise<store.LimitColumns> {
  if (changes === null) return noLimits;
  const { services, servers, ...plain } = changes;
  const after = Object.fromEntries(
    Object.entries(noLimits).map(([name, none]) => {
      const change = (plain as Record<string, unknown>)[name];
      return [name, change ?? (change === null ? none : before[name as keyof typeof noLimits])];
    }),
  ) as unknown as store.LimitColumns;
  if (services !== undefined) after.services = services && JSON.stringify(services);
  if (servers !== undefined) after.server_ids = servers && (await idsOf(db, servers));
  return after;
}

async function idsOf(db: Reader, servers: readonly string[]): Promise<string> {
  const ids: number[] = [];
  for (const name of servers) ids.push((await requireServerOfBody(db, name, 'limits.servers')).id);
  return JSON.stringify(ids);
}
