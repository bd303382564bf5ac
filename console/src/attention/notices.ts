// Events of the last hours that need a look, in both consoles: refusals that rise, and
// addresses that try many users.
import type { ResponseOf } from '../api/api.ts';
import { count } from '../format.ts';
import { addressOf } from '../paths.ts';
import { type Item, named } from './items.ts';

export type Notices = ResponseOf<'admin_network_notices'>;

/** Notices are read again so often. */
export const noticesEveryMs = 60_000;

const inAnHour = ({ refusals, usual_refusals: usual }: Notices['rising'][number]) =>
  `${refusals.toLocaleString('en')} within an hour, usually ${usual === 0 ? 'hardly any' : usual.toLocaleString('en')}`;

/** `page`: that of refused connections. `isOwn`: they are of one's own account. */
export function ofNotices({ rising, tries }: Notices, page: string, isOwn: boolean): Item[] {
  const items: Item[] = [];
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
