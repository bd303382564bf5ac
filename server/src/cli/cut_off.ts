// The question before terms that end connections at once: nodes apply them within seconds.

import { bytesInWords } from '../../../kit/src/cli/values.ts';
import { systemClock } from '../clock.ts';
import type { AdminApi } from './api.ts';
import type { Given } from './given.ts';

interface Terms {
  limit_bytes: number | null;
  on_limit: string;
  expiry: number;
}

interface Account extends Terms {
  detailed_billing: boolean;
  period: { usage: number };
}

interface User {
  id: number;
  name: string;
  limits: { limit_bytes: number | null; on_limit: string; active_until: number | null };
  period: { usage: number };
}

interface ContractServer {
  server: string;
  limit_bytes: number | null;
  usage: { current: number };
}

/** The reason why nodes refuse connections under these terms; undefined: there is none. */
function reasonToRefuse({ on_limit, limit_bytes, expiry }: Terms, usage: number, end: string) {
  if (expiry <= systemClock.now()) return `${end} has passed`;
  if (on_limit !== 'refuse' || limit_bytes === null || usage < limit_bytes) return undefined;
  return `${bytesInWords(usage)} of the limit of ${bytesInWords(limit_bytes)} are used already`;
}

function questionOf(
  subject: string,
  before: Terms,
  after: Terms,
  usage: number,
  end = 'the end of the contract',
) {
  if (reasonToRefuse(before, usage, end)) return undefined;
  const reason = reasonToRefuse(after, usage, end);
  return reason && `This ends all connections of ${subject}: ${reason}.`;
}

/** The question before a change of an account's terms; undefined when it ends no connections. */
export async function questionOfTerms(given: Given, api: AdminApi): Promise<string | undefined> {
  const changed = given.fields as Partial<Terms>;
  if (!['limit_bytes', 'on_limit', 'expiry'].some((field) => field in changed)) return undefined;
  const account = await api.get<Account>(given.path('/accounts/<account>'));
  const after = { ...account, ...changed };
  return questionOf(given.word('account'), account, after, account.period.usage);
}

/** The same before a change of a user's limits. */
export async function questionOfUser(given: Given, api: AdminApi): Promise<string | undefined> {
  if (!given.fields.limits) return undefined;
  return questionOfLimits(given, await api.get(given.path('/accounts/<account>/users/<user>')));
}

/** The same before a change of the limits of several users. */
export async function questionOfUsers(given: Given, api: AdminApi): Promise<string | undefined> {
  const questions = (await usersNamed(given, api)).map((user) => questionOfLimits(given, user));
  return questions.filter(Boolean).join(' ') || undefined;
}

/** The users of the account that are named. Errors: a failure for an unknown name. */
export async function usersNamed(given: Given, api: AdminApi): Promise<User[]> {
  const names = [...new Set(given.parsedAll('users', String))];
  const path = (name: string) =>
    `${given.path('/accounts/<account>/users')}/${encodeURIComponent(name)}`;
  return Promise.all(names.map((name) => api.get<User>(path(name))));
}

function questionOfLimits(given: Given, { name, limits, period }: User): string | undefined {
  const termsOf = ({ active_until, ...terms }: User['limits']): Terms => ({
    ...terms,
    expiry: active_until ?? Number.POSITIVE_INFINITY,
  });
  const changed = given.fields.limits as Partial<User['limits']>;
  const [before, after] = [termsOf(limits), termsOf({ ...limits, ...changed })];
  return questionOf(name, before, after, period.usage, "the end of the user's access");
}

/**
 * The same before a change of these servers' own limits, which apply only with detailed billing.
 */
export async function questionOfOwnLimit(
  given: Given,
  api: AdminApi,
  names: readonly string[],
  limit_bytes: number | null,
): Promise<string | undefined> {
  const path = given.path('/accounts/<account>');
  const { detailed_billing, on_limit, expiry } = await api.get<Account>(path);
  if (!detailed_billing) return undefined;
  const questions = (await api.list<ContractServer>(`${path}/servers`))
    .filter(({ server }) => names.includes(server))
    .map((own) => {
      const before = { on_limit, expiry, limit_bytes: own.limit_bytes };
      const subject = `${given.word('account')} on ${own.server}`;
      return questionOf(subject, before, { ...before, limit_bytes }, own.usage.current);
    });
  return questions.filter(Boolean).join(' ') || undefined;
}
