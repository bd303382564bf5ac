// What pages read and change: kept by operation and parameters, read again when the server tells of a change.
import { effect } from '@preact/signals';
import {
  keepPreviousData,
  QueryClient,
  type UseQueryResult,
  useQuery,
} from '@tanstack/preact-query';
import { type Answer, ApiError, call, type Given, type Operation } from './api.ts';
import { handleAuthError, type Session, session } from './session.ts';

export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      // Changes are told by events; time alone is no reason to read again, but expiries pass.
      staleTime: 15_000,
      refetchInterval: 60_000,
      retry: (failures, error) => {
        const status = error instanceof ApiError ? error.status : 400;
        return (status === 0 || status >= 500) && failures < 4;
      },
      retryDelay: (failures) => Math.random() * Math.min(8_000, 500 * 2 ** failures),
      networkMode: 'always',
    },
  },
});

/** Names the person of a session: the same one may have signed in anew. */
export const whoIs = (of: Session | null | undefined) => of && `${of.account}/${of.user.name}`;

let last = session.peek();
// Nothing of who was there before stays; what was refused to the session before is asked again.
effect(() => {
  const before = last;
  last = session.value;
  if (before === undefined) return;
  if (whoIs(before) !== whoIs(last)) queries.clear();
  else if (before?.session_id !== last?.session_id) void queries.invalidateQueries();
});

/** Reads an operation; the answer stays up to date while it is shown. */
export function useRead<K extends Operation>(
  operation: K,
  given: Given<K>,
  { enabled = true }: { enabled?: boolean } = {},
): UseQueryResult<Answer<K>, unknown> {
  return useQuery<Answer<K>, unknown>({
    queryKey: [operation, given],
    queryFn: async ({ signal }) => {
      try {
        const answer = await call(operation, given, signal);
        // An answer without a body would count as missing.
        return (answer ?? null) as Answer<K>;
      } catch (error) {
        handleAuthError(operation, error);
        throw error;
      }
    },
    placeholderData: keepPreviousData as never,
    enabled,
  });
}

/**
 * A change that a page makes; when it is done, or has failed, everything that is shown is read again.
 * Errors: ApiError.
 */
export async function change<K extends Operation>(
  operation: K,
  given: Given<K>,
): Promise<Answer<K>> {
  try {
    return await call(operation, given);
  } catch (error) {
    handleAuthError(operation, error);
    throw error;
  } finally {
    // Also after a failure: the outcome may be unknown.
    void queries.invalidateQueries();
  }
}
