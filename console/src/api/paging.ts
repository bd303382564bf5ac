// Lists that the server gives in pages: the pages read so far, kept up to date together.
import { type InfiniteData, useInfiniteQuery } from '@tanstack/preact-query';
import { useEffect } from 'preact/hooks';
import type { Given, ResponseOf } from './api.ts';
import { type Read, read } from './reading.ts';

type Paged = 'admin_list_accounts' | 'admin_list_usage' | 'admin_list_audit' | 'console_list_audit';
type Query<K extends Paged> = Given<K>['query'];
type Row<K extends Paged> = ResponseOf<K>[number];

export interface Pages<T> {
  /** As `Loaded` takes them: the rows of all pages that were read. */
  rows: { data: T[] | undefined; error: unknown; refetch: () => unknown };
  hasMore: boolean;
  isReading: boolean;
  readMore: () => void;
}

interface PagesGiven<K extends Paged> {
  query: Query<K>;
  /** Where the page after `last` begins. */
  after: (last: Row<K>) => Query<K>;
  /** Rows in a page. */
  limit?: number;
  /** Goes on by itself until the end. */
  all?: boolean;
  /** Of a scope, for an operation of accounts. */
  base?: string;
}

export function usePages<K extends Paged>(
  operation: K,
  { query, after, limit = 200, all = false, base }: PagesGiven<K>,
): Pages<Row<K>> {
  const pages = useInfiniteQuery<
    Read<ResponseOf<K>>,
    unknown,
    InfiniteData<Read<ResponseOf<K>>>,
    readonly unknown[],
    Query<K>
  >({
    queryKey: [operation, 'pages', query, limit, base],
    initialPageParam: {},
    queryFn: ({ signal, pageParam }) => {
      const given = { query: { ...query, limit, ...(pageParam as Query<K>) } };
      return read(operation, given as unknown as Given<K>, base, signal);
    },
    getNextPageParam: ({ body }) => {
      const rows = body as Row<K>[];
      const last = rows.at(-1);
      return last && rows.length === limit ? after(last) : undefined;
    },
  });
  const { hasNextPage, isFetching, fetchNextPage } = pages;
  useEffect(() => {
    if (all && hasNextPage && !isFetching) void fetchNextPage();
  }, [all, hasNextPage, isFetching, fetchNextPage]);
  return {
    rows: {
      data: pages.data?.pages.flatMap(({ body }) => body as Row<K>[]),
      error: pages.error,
      refetch: pages.refetch,
    },
    hasMore: hasNextPage,
    isReading: pages.isFetchingNextPage,
    readMore: () => void fetchNextPage(),
  };
}
