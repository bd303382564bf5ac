// Lists that the server gives in pages: the pages read so far, kept up to date together.
import { type InfiniteData, keepPreviousData, useInfiniteQuery } from '@tanstack/preact-query';
import { useEffect } from 'preact/hooks';
import type { Given, ListPage, ResponseOf } from './api.ts';
import { pageAsShown } from './reading.ts';

export type Paged =
  | 'admin_list_accounts'
  | 'admin_list_usage'
  | 'admin_list_audit'
  | 'console_list_audit';
type Query<K extends Paged> = Given<K>['query'];
type Row<K extends Paged> = ResponseOf<K>[number];

export interface Pages<T> {
  /** As `Loaded` takes them: the rows of all pages that were read. */
  rows: { data: T[] | undefined; error: unknown; refetch: () => unknown };
  hasMore: boolean;
  isReading: boolean;
  /** The rows are those of the query before, while the new one is read. */
  isOld: boolean;
  readMore: () => void;
}

interface PagesGiven<K extends Paged> {
  query: Query<K>;
  /** Rows in a page. */
  limit?: number;
  /** Goes on by itself until the end. */
  all?: boolean;
  /** Of a scope, for an operation of accounts. */
  base?: string | undefined;
}

export function usePages<K extends Paged>(
  operation: K,
  { query, limit = 200, all = false, base }: PagesGiven<K>,
): Pages<Row<K>> {
  const pages = useInfiniteQuery<
    ListPage<K>,
    unknown,
    InfiniteData<ListPage<K>>,
    readonly unknown[],
    Record<string, string>
  >({
    queryKey: [operation, 'pages', query, limit, base],
    initialPageParam: {},
    queryFn: ({ signal, pageParam }) => {
      const given = { query: { ...query, limit, ...pageParam } };
      return pageAsShown(operation, given as unknown as Given<K>, base, signal);
    },
    placeholderData: keepPreviousData,
    // A page may be short, or empty, and have a next one.
    getNextPageParam: ({ next }) => next,
  });
  const { hasNextPage, isFetching, fetchNextPage } = pages;
  useEffect(() => {
    if (all && hasNextPage && !isFetching) void fetchNextPage();
  }, [all, hasNextPage, isFetching, fetchNextPage]);
  return {
    rows: {
      data: pages.data?.pages.flatMap(({ rows }) => rows as Row<K>[]),
      error: pages.error,
      refetch: pages.refetch,
    },
    hasMore: hasNextPage,
    isOld: pages.isPlaceholderData,
    isReading: pages.isFetchingNextPage,
    readMore: () => void fetchNextPage(),
  };
}
