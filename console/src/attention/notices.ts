// Events of the last hours that need a look, in both consoles: users near their own limit, refusals
// that rise, and addresses that try many users.
import type { ResponseOf } from '../api/api.ts';
import { operatorScope } from '../api/scope.ts';
import { bytes, count, fromNow, percent } from '../format.ts';
import { addressOf, paths } from '../paths.ts';
import { type Item, named } from './items.ts';

export type Notices = ResponseOf<'admin_network_notices'>;

/** How often notices are read again. */
export const noticesEveryMs = 60_000;

const inAnHour = ({ refusals, usual_refusals: usual }: Notices['rising'][number]) =>
  `${refusals.toLocaleString('en')} within an hour, usually ${usual === 0 ? 'hardly any' : usual.toLocaleString('en')}`;

/** "85%"; never 100% while a byte is left. */
const shareOf = ({ usage, limit_bytes }: Notices['limits'][number]) =>
  percent(Math.floor((100 * usage) / limit_bytes) / 100);

/** The users whose limit is used up, or those who are near it. */
function ofLimits(limits: Notices['limits'], usedUp: boolean, isOwn: boolean, now: number): Item[] {
  const users = limits.filter(({ used_up }) => used_up === usedUp);
  const [first] = users;
  if (!first) return [];
  const nameOf = ({ account, user }: typeof first, ...facts: string[]) => {
    const inBrackets = [...(isOwn ? [] : [account]), ...facts].join(', ');
    return inBrackets ? `${user} (${inBrackets})` : user;
  };
  const refused = users.some(({ on_limit }) => on_limit === 'refuse');
  const only = users.length === 1;
  const pages = isOwn ? paths : operatorScope(first.account).paths;
  const pageOfUsers = isOwn ? paths.users : paths.operator.accounts;
  return [
    {
      key: usedUp ? 'limits-used-up' : 'limits-near',
      tone: usedUp && refused ? 'bad' : 'warn',
      sentence: only
        ? `${nameOf(first)} used ${usedUp ? 'up' : `${shareOf(first)} of`} the user’s limit of ${bytes(first.limit_bytes)}; the next period begins ${fromNow(first.until, now)}.`
        : usedUp
          ? `${count(users.length, 'user')} used up their limits: ${named(users.map((user) => nameOf(user)))}.`
          : `${count(users.length, 'user')} used 80% or more of their limits: ${named(users.map((user) => nameOf(user, shareOf(user))))}.`,
      link: only
        ? { path: pages.user(first.user), text: first.user }
        : { path: pageOfUsers, text: isOwn ? 'Users' : 'Accounts' },
    },
  ];
}

/** `page`: that of refused connections. `isOwn`: whether they are of the viewer's account. */
export function ofNotices(
  { limits, rising, tries }: Notices,
  page: string,
  isOwn: boolean,
  now: number,
): Item[] {
  const items = [true, false].flatMap((usedUp) => ofLimits(limits, usedUp, isOwn, now));
  const text = 'Refused lately';
  const [first] = rising;
  if (first) {
    const names = named(rising.map((row) => `${row.account} (${inAnHour(row)})`));
    const have = count(rising.length, 'account has', 'accounts have');
    const only = !isOwn && rising.length === 1;
    items.push({
      key: 'rising',
      tone: 'warn',
      sentence: isOwn
        ? `Far more connections than usual are refused: ${inAnHour(first)}.`
        : `${have} far more refused connections than usual: ${names}.`,
      link: { path: only ? addressOf(page, { account: first.account }) : page, text },
    });
  }
  if (tries.length > 0) {
    const names = named(tries.map(({ network, users }) => `${network} (${users} users)`));
    items.push({
      key: 'tries',
      tone: 'warn',
      sentence: `${count(tries.length, 'address tries', 'addresses try')} many users with wrong VPN passwords: ${names}.`,
      link: { path: addressOf(page, { reason: 'bad_token' }), text },
    });
  }
  return items;
}
