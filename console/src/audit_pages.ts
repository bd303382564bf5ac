// The audit log as it is read: page by page from its newest record on; what is shown stays up to date.
import { useInfiniteQuery } from '@tanstack/preact-query';
import { ApiError, call } from './api.ts';
import { isSignedOut } from './session.ts';

const operation = 'console_list_audit';
const page_size = 50;

/** The records read so far; `older` reads one page more, as long as there is one. */
export function useAuditPages() {
  const reading = useInfiniteQuery({
    queryKey: [operation, 'pages'],
    initialPageParam: undefined as number | undefined,
    queryFn: async ({ signal, pageParam: before }) => {
      const query = { limit: page_size, ...(before !== undefined && { before }) };
      try {
        return await call(operation, { query }, signal);
      } catch (error) {
        if (error instanceof ApiError && error.status === 401) isSignedOut(operation);
        throw error;
      }
    },
    getNextPageParam: (last) => (last.length < page_size ? undefined : last.at(-1)?.id),
  });
  return {
    data: reading.data?.pages.flat(),
    error: reading.error as unknown,
    refetch: reading.refetch,
    hasOlder: reading.hasNextPage,
    isReadingOlder: reading.isFetchingNextPage,
    older: () => void reading.fetchNextPage(),
  };
}
