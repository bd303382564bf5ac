// The open connections of an account, or of the whole network. They are read every few seconds
// while the page is visible; otherwise nodes aren't asked.
import { useContext, useMemo } from 'preact/hooks';
import type { Given } from '../api/api.ts';
import { callWithAuthHandling, useRead, useReadIn } from '../api/reading.ts';
import { type Scope, ScopeContext } from '../api/scope.ts';
import { ended, endedCount, withoutEnded } from './ended.ts';
import type { ConnectionQuery, OpenConnections } from './groups.ts';

type QueryInAccount = NonNullable<Given<'console_list_connections'>['query']>;

/** The filters that are set, for the page's address. */
export const stateOf = (filters: Record<string, string | number | undefined>) =>
  Object.fromEntries(
    Object.entries(filters).flatMap(([name, value]) => (value ? [[name, String(value)]] : [])),
  );

/** As often as nodes repeat their answers. */
const everyMs = 3_000;

/** `isPaused`: keeps the last answer. */
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
  const reading = scope ? ofAccount : ofNetwork;
  const { data: answer, dataUpdatedAt } = reading;
  // An order counts for what was read until it is forgotten: a row comes back with newer data only.
  const data = useMemo(
    () => answer && withoutEnded(answer, query, ended.peek()),
    [answer, dataUpdatedAt, endedCount.value],
  );
  return { ...reading, data };
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
