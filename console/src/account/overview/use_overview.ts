// Everything that the overview shows, as far as the permissions of whoever is signed in open it.
import { useRef } from 'preact/hooks';
import { useRead } from '../../api/reading.ts';
import { flags, type Session, session } from '../../api/session.ts';
import { now } from '../../now.ts';
import { daysBack } from '../../usage/days.ts';
import { forecast } from '../../usage/forecast.ts';
import { attention } from './attention.ts';

export const spark_days = 30;

export type Overview = ReturnType<typeof useOverview>;

export function useOverview() {
  const { admin, billing, proxy } = flags.value;
  const any = { enabled: admin || billing || proxy };
  const reads = {
    contract: useRead('console_get_contract', {}, any),
    servers: useRead('console_list_servers', {}, any),
    period: useRead('console_get_usage', { query: { by: 'day' } }, { enabled: admin || billing }),
    month: useRead(
      'console_get_usage',
      { query: { by: 'day', from: daysBack(now.value, spark_days) } },
      { enabled: admin || billing },
    ),
    authlist: useRead('console_list_authlist', {}, { enabled: admin || proxy }),
    overrides: useRead('console_list_overrides', {}, { enabled: admin }),
    tokens: useRead('console_list_tokens', {}, { enabled: admin }),
    users: useRead('console_list_users', {}, { enabled: admin }),
  };
  const { contract, servers, period, month, authlist, overrides, tokens, users } = reads;
  const pendingSince = usePendingSince(overrides.data ?? []);
  const ahead =
    contract.data && period.data
      ? forecast({
          period: contract.data.period,
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
    // A person who can do nothing about servers need not be told of their health.
    ...(servers.data && (admin || proxy) && { servers: servers.data }),
    ...(authlist.data && { authlist: authlist.data }),
    ...(overrides.data && { overrides: overrides.data }),
    ...(tokens.data && { tokens: tokens.data }),
    ...(users.data && { users: users.data }),
  });
  const all = Object.values(reads);
  return {
    contract: contract.data,
    servers: servers.data,
    /** Of the last thirty days, by day. */
    month: month.data,
    authlist: authlist.data,
    forecast: ahead,
    items,
    /** Something that may need attention was not read yet. */
    isReading: all.some(({ isLoading }) => isLoading),
    /** The errors of the reads that failed. */
    faults: all.flatMap(({ error }) => (error ? [error] : [])),
  };
}

/** Since when each entry has been seen pending: the server does not say. */
function usePendingSince(overrides: ReadonlyArray<{ id: number; status: string }>) {
  const seen = useRef(new Map<number, number>());
  const pending = overrides.filter(({ status }) => status === 'pending');
  const kept = pending.map(({ id }) => [id, seen.current.get(id) ?? now.value] as const);
  seen.current = new Map(kept);
  return seen.current;
}
