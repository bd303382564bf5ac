// Lists in pages: the pages read so far, kept up to date together.
import { type InfiniteData, keepPreviousData, useInfiniteQuery } from '@tanstack/preact-query';
import { useEffect } from 'preact/hooks';
import type { ReadSoFar } from '../ui/ui.ts';
import { callForPage, type Given, type ListPage, type ResponseOf } from './api.ts';
import { withAuthHandling } from './reading.ts';

export type Paged =
  | 'admin_list_accounts'
  | 'admin_list_usage'
  | 'admin_list_servers'
  | 'admin_list_nodes'
  | 'admin_list_audit'
  | 'admin_list_refusals'
  | 'admin_list_geo_statuses'
  | 'admin_list_tokens'
  | 'console_list_servers'
  | 'console_list_network'
  | 'console_list_audit'
  | 'console_list_refusals'
  | 'console_list_authlist'
  | 'console_list_overrides'
  | 'console_list_tokens'
  | 'console_list_users';
export type Query<K extends Paged> = NonNullable<Given<K>['query']>;
export type Row<K extends Paged> = ResponseOf<K>[number];
type Next = Record<string, string>;

export interface Pages<T> extends ReadSoFar {
  /** Whether it goes on to read further pages. */
  isToGoOn: boolean;
  /** For `Loaded`: the rows of all pages that were read. */
  rows: { data: T[] | undefined; error: unknown; isLoading: boolean; refetch: () => unknown };
  /** Reads a long page for a file: the first one with {}, then the `next` of the page before. */
  readToSave: (next: Next, stop: AbortSignal) => Promise<ListPage<T>>;
}

/** The number of matches, and the rows that were read. */
export const foundIn = <T>(pages: Pages<T>) => ({
  found: pages.found,
  rows: pages.rows.data ?? [],
});

interface PagesGiven<K extends Paged> {
  query: Query<K>;
  /** Rows in a page. */
  limit?: number;
  /** Reads at least this many rows by itself; Infinity: all. */
  upTo?: number;
  /** The base of a scope, for an operation of accounts. */
  base?: string;
  /** False: does not read for now. */
  enabled?: boolean;
}

/** One page: the first of a query, or the one after another page. Errors: ApiError. */
export function readPage<K extends Paged>(
  operation: K,
  query: Query<K>,
  next: Next,
  base?: string,
  signal?: AbortSignal,
): Promise<ListPage<Row<K>>> {
  const given = { query: { ...query, ...next } } as unknown as Given<K>;
  const options = { signal, ...(base === undefined ? {} : { base }) };
  return withAuthHandling(callForPage(operation, given, options)) as Promise<ListPage<Row<K>>>;
}

export function usePages<K extends Paged>(
  operation: K,
  { query, limit = 200, upTo = 0, base, enabled = true }: PagesGiven<K>,
): Pages<Row<K>> {
  type Page = ListPage<Row<K>>;
  const pages = useInfiniteQuery<Page, unknown, InfiniteData<Page>, readonly unknown[], Next>({
    queryKey: [operation, 'pages', query, limit, base],
    initialPageParam: {},
    queryFn: ({ signal, pageParam }) =>
      readPage(operation, { ...query, limit }, pageParam, base, signal),
    getNextPageParam: ({ next }) => next,
    placeholderData: keepPreviousData,
    enabled,
  });
  const { hasNextPage, isFetching, fetchNextPage } = pages;
  const rows = pages.data?.pages.flatMap(({ rows }) => rows);
  const isToGoOn = hasNextPage && (rows?.length ?? 0) < upTo;
  useEffect(() => {
    if (isToGoOn && !isFetching) void fetchNextPage();
  }, [isToGoOn, isFetching, fetchNextPage]);
  const first = pages.data?.pages[0];
  return {
    rows: {
      data: rows,
      error: pages.error,
      isLoading: pages.isLoading,
      refetch: pages.refetch,
    },
    total: first?.total ?? 0,
    found: first?.found ?? 0,
    hasMore: hasNextPage,
    isToGoOn,
    isReading: pages.isFetchingNextPage,
    isOld: pages.isPlaceholderData,
    readMore: () => void fetchNextPage(),
    readToSave: (next, stop) => readPage(operation, { ...query, limit: 1000 }, next, base, stop),
  };
}
