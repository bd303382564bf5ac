// Reading and changing records: responses are cached by operation and parameters, and read again
// when the server reports a change.
import { effect } from '@preact/signals';
import {
  type InfiniteData,
  keepPreviousData,
  type Query,
  QueryClient,
  type UseQueryResult,
  useQuery,
} from '@tanstack/preact-query';
import type { Operations } from '../openapi.ts';
import {
  ApiError,
  call,
  callForCache,
  type Given,
  type Held,
  type Operation,
  type ResponseOf,
} from './api.ts';
import { isOutdated } from './news.ts';
import type { Scope } from './scope.ts';
import { handleAuthError, type Session, session } from './session.ts';

export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      // Events report changes; time alone is no reason to read again, except that entries expire.
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

/** Identifies the person of a session, who may have signed in again. */
export const whoIs = (session: Session | null | undefined) =>
  session && `${session.account}/${session.user.name}`;

let last = session.peek();
// Nothing of the previous person stays; requests rejected for the old session are sent again.
effect(() => {
  const before = last;
  last = session.value;
  if (before === undefined) return;
  if (whoIs(before) !== whoIs(last)) queries.clear();
  else if (before?.session_id !== last?.session_id) void queries.invalidateQueries();
});

/** The operations on an account's records, which its users and operators share. */
export type AccountOperation = {
  [K in Operation]: K extends `console_${infer Name}` ? Name : never;
}[Operation];
export type AccountGiven<N extends AccountOperation> = Operations[`console_${N}`]['given'];
export type AccountResponse<N extends AccountOperation> = Operations[`console_${N}`]['response'];

interface ReadOptions {
  /** False: does not read for now. */
  enabled?: boolean;
  /** How often it is read while the page is visible, if not once a minute; false: not again. */
  everyMs?: number | false;
}

/** Reads an operation; the response stays up to date while it is shown. */
export const useRead = <K extends Operation>(
  operation: K,
  given: Given<K>,
  options: ReadOptions = {},
) => useQueryOf<ResponseOf<K>>(operation, given, '/console', options);

/** The same for an account's operation, in the scope of its users or of an operator. */
export const useReadIn = <N extends AccountOperation>(
  { base }: Pick<Scope, 'base'>,
  name: N,
  given: AccountGiven<N>,
  options: ReadOptions = {},
) => useQueryOf<AccountResponse<N>>(`console_${name}`, given, base, options);

function useQueryOf<T>(
  operation: Operation,
  given: object,
  base: string,
  { enabled = true, everyMs }: ReadOptions,
): UseQueryResult<T, unknown> {
  return useQuery<Held<T>, unknown, T>({
    queryKey: [operation, given, base],
    queryFn: ({ signal }) =>
      withAuthHandling(
        callForCache(operation, given as never, { signal, base }),
      ) as unknown as Promise<Held<T>>,
    select: bodyOf,
    placeholderData: keepPreviousData as never,
    enabled,
    ...(everyMs === undefined ? {} : { refetchInterval: everyMs }),
  });
}

const bodyOf = <T>({ body }: Held<T>) => body;

type Fresh = Pick<Held<unknown>, 'as_of'>;

/** Whether the server has reported a change that is newer than the cached response. */
export function isOld({ queryKey: [operation], state: { data } }: Query): boolean {
  const held = data as Fresh | InfiniteData<Fresh> | undefined;
  const reads = held === undefined ? [] : 'pages' in held ? held.pages : [held];
  return reads.some(({ as_of }) => as_of && isOutdated(operation as Operation, as_of));
}

/** Reads again all queries that failed. */
export const retryReads = () =>
  void queries.refetchQueries({ predicate: ({ state }) => state.status === 'error' });

/** Calls an operation, and handles what a failure means for the sign-in. Errors: ApiError. */
export const callWithAuthHandling = <K extends Operation>(
  operation: K,
  given: Given<K>,
  base?: string,
  signal?: AbortSignal,
): Promise<ResponseOf<K>> =>
  withAuthHandling(call(operation, given, { signal, ...(base === undefined ? {} : { base }) }));

/** Waits for a request, and handles what its failure means for the sign-in. Errors: ApiError. */
export async function withAuthHandling<T>(request: Promise<T>): Promise<T> {
  try {
    return await request;
  } catch (error) {
    handleAuthError(error);
    throw error;
  }
}

/**
 * A change that a page makes; when it is done or has failed, everything that is shown is read
 * again.
 * Errors: ApiError.
 */
export async function change<K extends Operation>(
  operation: K,
  given: Given<K>,
  base?: string,
): Promise<ResponseOf<K>> {
  try {
    return await callWithAuthHandling(operation, given, base);
  } finally {
    // Also after a failure, since the outcome may be unknown.
    void queries.invalidateQueries();
  }
}

/** The same for an account's operation, in the scope of its users or of an operator. */
export const changeIn = <N extends AccountOperation>(
  { base }: Scope,
  name: N,
  given: AccountGiven<N>,
): Promise<AccountResponse<N>> =>
  change(`console_${name}` as Operation, given as never, base) as Promise<AccountResponse<N>>;
