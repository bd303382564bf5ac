// Everything that the overview shows, within the user's permissions.
import { useRef } from 'preact/hooks';
import { foundIn, usePages } from '../../api/paging.ts';
import { useRead } from '../../api/reading.ts';
import { flags, type Session, session } from '../../api/session.ts';
import { maxNamed } from '../../attention/items.ts';
import { noticesEveryMs } from '../../attention/notices.ts';
import { daySeconds, daysBack } from '../../charts/days.ts';
import { now } from '../../now.ts';
import { countsOf } from '../../servers/places.ts';
import { useServerToTry } from '../../servers/to_try.ts';
import { forecast } from '../../usage/forecast.ts';
import { attention } from './attention.ts';
import type { Need } from './known.ts';

export const chartedDays = 30;

export type Overview = ReturnType<typeof useOverview>;

export function useOverview() {
  const { admin, billing, proxy } = flags.value;
  const any = { enabled: admin || billing || proxy };
  const reads = {
    contract: useRead('console_get_contract', {}, any),
    places: useRead('console_list_network_places', {}, any),
    notices: useRead('console_list_notices', {}, { enabled: admin, everyMs: noticesEveryMs }),
    period: useRead('console_get_usage', { query: { by: 'day' } }, { enabled: admin || billing }),
    month: useRead(
      'console_get_usage',
      { query: { by: 'day', from: daysBack(now.value, chartedDays) } },
      { enabled: admin || billing },
    ),
  };
  const { contract, places, period, month, notices } = reads;
  const counts = places.data && countsOf(places.data);
  // A user who cannot change servers does not need to see their health.
  const needs = useNeeds(
    admin || proxy ? counts : undefined,
    contract.data?.detailed_billing ?? false,
  );
  const plain = useServerToTry('proxy', { enabled: admin || proxy });
  const lately = usePages('console_list_network', {
    query: { view: 'contract', sort: 'last_30_days', order: 'desc' },
    limit: 1,
    enabled: contract.data?.period.usage === 0,
  });
  const overTls = useServerToTry('proxy-https', { enabled: plain.toTry === null });
  const lists = useLists();
  const { idle, ending, pending, tokensOver, tokensEnding, invited } = lists;
  const pendingSince = usePendingSince(pending.rows.data ?? []);
  const ahead =
    contract.data && period.data
      ? forecast({
          contract: contract.data,
          days: period.data.rows.map(({ day = 0, total }) => ({ day, total })),
          now: now.value,
        })
      : undefined;
  const items = attention({
    now: now.value,
    session: session.value as Session,
    forecast: ahead,
    pendingSince,
    ...(contract.data && { contract: contract.data }),
    ...(notices.data && { notices: notices.data }),
    seesUsage: admin || billing,
    servers: needs.servers,
    idle: foundIn(idle),
    ending: foundIn(ending),
    pending: foundIn(pending),
    tokensOver: foundIn(tokensOver),
    tokensEnding: foundIn(tokensEnding),
    invited: foundIn(invited),
  });
  const all = [
    ...Object.values(reads),
    ...Object.values(lists).map(({ rows }) => rows),
    ...needs.reads,
    lately.rows,
    plain.reading,
    overTls.reading,
  ];
  return {
    contract: contract.data,
    /** How many servers are on the contract. */
    servers: counts?.contract,
    /** A port to test a connection with; null: there is none. */
    toTry: plain.toTry ?? (plain.toTry === null ? overTls.toTry : undefined),
    /** The last thirty days, by day. */
    month: month.data,
    /** How many addresses of the authlist the user can see. */
    listed: idle.rows.data && idle.total,
    /** Whether there was proxy traffic lately. Months later, the steps to connect appear again. */
    isConnected:
      (contract.data?.period.usage ?? 0) > 0 || (lately.rows.data?.[0]?.own?.last_30_days ?? 0) > 0,
    forecast: ahead,
    items,
    /** Whether something that may need attention is still being read. */
    isReading: all.some(({ isLoading }) => isLoading),
    /** The errors of the reads that failed. */
    faults: all.flatMap(({ error }) => (error ? [error] : [])),
  };
}

const needs = [
  ...(['not_connected', 'no_node', 'crit', 'warn', 'unknown', 'misplaced', 'over_limit'] as const),
] satisfies Need[];

/** The first servers of the contract that may need attention, by the filters of their page. */
function useNeeds(counts: ReturnType<typeof countsOf> | undefined, hasOwnLimits: boolean) {
  const isOk = counts?.byState.every(({ state }) => state === 'ok');
  const isNeeded = (need: Need) =>
    need === 'misplaced' || (need === 'over_limit' ? hasOwnLimits : !isOk);
  const pages = needs.map((state) =>
    usePages('console_list_servers', {
      query: { state },
      limit: maxNamed,
      enabled: counts !== undefined && counts.contract > 0 && isNeeded(state),
    }),
  );
  return {
    servers: Object.fromEntries(
      needs.map((need, at) => [need, foundIn(pages[at] as (typeof pages)[0])]),
    ),
    reads: pages.map(({ rows }) => rows),
  };
}

/** The first rows of the lists that may need attention, by the filters of the linked pages. */
function useLists() {
  const { admin, proxy } = flags.value;
  const ofAuthlist = { limit: maxNamed, enabled: admin || proxy };
  // Whole minutes: the time is part of the query.
  const minute = now.value - (now.value % 60);
  const ends_before = String(minute + daySeconds);
  const ofTokens = { limit: maxNamed, enabled: admin };
  return {
    idle: usePages('console_list_authlist', {
      ...ofAuthlist,
      query: { state: 'idle', sort: 'expiry' },
    }),
    ending: usePages('console_list_authlist', {
      ...ofAuthlist,
      query: { state: 'in_use', ends_before, sort: 'expiry' },
    }),
    pending: usePages('console_list_overrides', {
      query: { state: 'pending' },
      limit: maxNamed,
      enabled: admin,
    }),
    tokensOver: usePages('console_list_tokens', {
      ...ofTokens,
      query: { state: 'expired', sort: 'expiry' },
    }),
    tokensEnding: usePages('console_list_tokens', {
      ...ofTokens,
      query: { state: 'active', sort: 'expiry', ends_before: String(minute + 7 * daySeconds) },
    }),
    invited: usePages('console_list_users', {
      query: { state: 'invited', sort: 'name' },
      limit: maxNamed,
      enabled: admin,
    }),
  };
}

/** The time at which each entry was first seen pending: the server does not report it. */
function usePendingSince(overrides: ReadonlyArray<{ id: number; status: string }>) {
  const seen = useRef(new Map<number, number>());
  const pending = overrides.filter(({ status }) => status === 'pending');
  const firstSeen = pending.map(({ id }) => [id, seen.current.get(id) ?? now.value] as const);
  seen.current = new Map(firstSeen);
  return seen.current;
}
