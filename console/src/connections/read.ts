// The open connections of an account, or of the whole network. They are read
// again every few seconds while somebody looks: the nodes are asked for no longer than that.
import { useContext } from 'preact/hooks';
import type { Given, ResponseOf } from '../api/api.ts';
import { callWithAuthHandling, useRead, useReadIn } from '../api/reading.ts';
import { type Scope, ScopeContext } from '../api/scope.ts';

export type OpenConnections = ResponseOf<'admin_open_connections'>;
export type EndedConnections = ResponseOf<'admin_end_connections'>;
export type ConnectionGroup = OpenConnections['connections'][number];
export type ConnectionSum = NonNullable<OpenConnections['sums']>[number];
/** An account's connections have no filter by account or node. */
export type ConnectionQuery = NonNullable<Given<'admin_open_connections'>['query']>;
/** All of these are common to the connections that are ended. */
export type EndTarget = Omit<ConnectionQuery, 'by' | 'limit'> &
  Partial<Pick<ConnectionGroup, 'service' | 'authlist_entry'>>;
type QueryInAccount = NonNullable<Given<'console_list_connections'>['query']>;

/** The filters that are set, for the page's address. */
export const stateOf = (filters: Record<string, string | number | undefined>) =>
  Object.fromEntries(
    Object.entries(filters).flatMap(([name, value]) => (value ? [[name, String(value)]] : [])),
  );

/** As often as nodes repeat their answers. */
const everyMs = 3_000;

/** `isPaused`: shows the last answer, and asks for no other. */
export function useConnections(query: ConnectionQuery, isPaused = false) {
  const scope = useContext(ScopeContext);
  const repeat = { everyMs: isPaused ? (false as const) : everyMs };
  const ofNetwork = useRead('admin_open_connections', { query }, { enabled: !scope, ...repeat });
  const ofAccount = useReadIn(
    scope ?? { base: '/console' },
    'list_connections',
    { query: query as QueryInAccount },
    { enabled: scope !== undefined, ...repeat },
  );
  return scope ? ofAccount : ofNetwork;
}

/** Reads them once. Errors: ApiError. */
export const readConnections = (
  scope: Scope | undefined,
  query: ConnectionQuery,
  stop: AbortSignal,
): Promise<OpenConnections> =>
  scope
    ? callWithAuthHandling(
        'console_list_connections',
        { query: query as QueryInAccount },
        scope.base,
        stop,
      )
    : callWithAuthHandling('admin_open_connections', { query }, undefined, stop);
