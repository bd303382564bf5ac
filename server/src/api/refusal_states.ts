// Whether what a refusal was about has been fixed since, and the limit that it was about.
import { type Account, accountsWithIds } from '../accounts/accounts.ts';
import { entriesOn } from '../authlist/authlist.ts';
import { findContractServers } from '../contract_servers/contract_servers.ts';
import type { Reader } from '../db/database.ts';
import { findByKeys } from '../db/one_of.ts';
import type { Refusal } from '../nodes/nodes.ts';
import { mayUseServer, servicesOfUser, type User, usersByKey } from '../users/users.ts';

/** The client that reads refusals: `account_id` 0 is the network, for operators. */
export interface RefusalViewer {
  account_id: number;
  is_operator: boolean;
  /** A person without the admin flag, who sees the own authlist entries alone. */
  user_id?: number | undefined;
}

export interface RefusalState {
  listed_for: string | null;
  limit: number | null;
  is_fixed: boolean | null;
}

type ServerOfContract = Awaited<ReturnType<typeof findContractServers>>[number];
type Facts = Partial<Pick<RefusalState, 'limit' | 'is_fixed'>>;

/** By reason, for those that depend on the user. */
const ofUsers: Record<string, (user: User, refusal: Refusal, now: number) => Facts> = {
  inactive_user: ({ active }) => ({ is_fixed: active === 1 }),
  no_proxy_flag: ({ proxy }) => ({ is_fixed: proxy === 1 }),
  user_expired: ({ active_until }, _, now) => ({
    ...{ limit: active_until, is_fixed: active_until === null || now < active_until },
  }),
  not_for_user: (user, { server_id, service }) => {
    const services: readonly string[] | null = servicesOfUser(user);
    const isOffered = services?.includes(service.replace(/^proxy-https$/, 'proxy')) ?? true;
    return { is_fixed: isOffered && mayUseServer(user, server_id) };
  },
  user_limit_reached: ({ limit_bytes, over_limit, on_limit }) => ({
    ...{ limit: limit_bytes, is_fixed: over_limit === 0 || on_limit === 'notify' },
  }),
  // If the user has no limit, it was a limit of the node.
  too_many_connections: ({ max_connections }) => ({ limit: max_connections }),
  too_many_addresses: ({ max_addresses }) => ({
    ...{ limit: max_addresses, is_fixed: max_addresses === null ? true : null },
  }),
};

/** By reason, for those that depend on the contract; `server`: undefined if it is not on it. */
const ofContracts: Record<
  string,
  (contract: Account, server: ServerOfContract | undefined, now: number) => Facts
> = {
  contract_expired: ({ expiry }, _, now) => ({ limit: expiry, is_fixed: now < expiry }),
  contract_suspended: ({ suspended }) => ({ is_fixed: suspended === 0 }),
  server_not_on_contract: (_, server) => ({ is_fixed: server !== undefined }),
  over_limit: ({ limit_bytes, over_limit, on_limit, detailed_billing }, server) => {
    const isServer = detailed_billing === 1 && over_limit === 0 && server?.over_limit === 1;
    return {
      limit: isServer ? server.limit_bytes : limit_bytes,
      is_fixed: on_limit === 'allow' || (over_limit === 0 && !isServer),
    };
  },
};

/** Returns a function that gives the state at `now` of what one of these refusals was about. */
export async function readStates(
  db: Reader,
  refusals: readonly Refusal[],
  viewer: RefusalViewer,
  now: number,
): Promise<(refusal: Refusal) => RefusalState> {
  const ofContract = refusals.filter(({ reason }) => Object.hasOwn(ofContracts, reason));
  const onServers = ofContract.map((of) => [of.account_id, of.server_id] as const);
  const [entries, userOf, accounts, serverOf] = await Promise.all([
    entriesOn(
      db,
      refusals.map(({ source }) => source),
      now,
    ),
    usersByKey(
      db,
      refusals.map(({ account_id, user_id }) => [account_id, user_id]),
    ),
    accountsWithIds(
      db,
      ofContract.map(({ account_id }) => account_id),
    ),
    findByKeys<ServerOfContract>(
      onServers,
      ({ account_id, server_id }) => [account_id, server_id],
      (keys) => findContractServers(db, keys),
    ),
  ]);
  const entriesOf = Map.groupBy(entries, ({ ip }) => String(ip));
  return (refusal) => {
    const { reason, source, account_id, user_id, server_id } = refusal;
    const account = accounts.get(account_id);
    const lister = viewer.account_id || account_id;
    const entry = entriesOf
      .get(source)
      ?.find((of) => of.account_id === lister && (viewer.user_id ?? of.user_id) === of.user_id);
    const isSeen = viewer.is_operator || account_id === viewer.account_id;
    const user = isSeen ? userOf(account_id, user_id) : undefined;
    const facts = {
      ...(user && ofUsers[reason]?.(user, refusal, now)),
      ...(isSeen &&
        account &&
        ofContracts[reason]?.(account, serverOf(account_id, server_id), now)),
    };
    const isAboutEntry = reason === 'unknown_address' && lister !== 0;
    const is_fixed = isAboutEntry ? entry?.waits === 0 : null;
    return { listed_for: entry?.user ?? null, limit: null, is_fixed, ...facts };
  };
}
