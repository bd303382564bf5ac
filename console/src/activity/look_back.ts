// The audit log as it is read: page by page from its newest record on; what is shown stays up to date.
import { useInfiniteQuery } from '@tanstack/preact-query';
import { useEffect, useRef } from 'preact/hooks';
import { call } from '../api/api.ts';
import { handleAuthError } from '../api/session.ts';

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
        handleAuthError(operation, error);
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

const most_pages = 10;

interface LookBack {
  /** The kind that was chosen; empty: all. */
  kind: string;
  /** How many of the records read are of it. */
  found: number;
  error: unknown;
  hasOlder: boolean;
  isReadingOlder: boolean;
  older: () => void;
}

/**
 * Reads on by itself while none of the records read is of the kind that was chosen: some pages, and then
 * when it is asked. Answers what a button for older records does, and says.
 */
export function useLookBack({ kind, found, error, hasOlder, isReadingOlder, older }: LookBack) {
  const left = useRef({ kind, pages: most_pages });
  if (left.current.kind !== kind) left.current = { kind, pages: most_pages };
  const isLooking = kind !== '' && found === 0 && hasOlder;
  useEffect(() => {
    if (!isLooking || isReadingOlder || error || left.current.pages === 0) return;
    left.current.pages -= 1;
    older();
  });
  return {
    verb: isLooking ? 'Look further back' : 'Older',
    readOlder: () => {
      left.current.pages = most_pages;
      older();
    },
  };
}
