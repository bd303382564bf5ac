// The things that need the attention of the user: each as a sentence, with the page that fixes it.
import { type Item, named, worstFirst } from '../../attention/items.ts';
import { ofNotices } from '../../attention/notices.ts';
import { daySeconds } from '../../charts/days.ts';
import { bytes, count, date, fromNow } from '../../format.ts';
import { addressOf, paths } from '../../paths.ts';
import { ofAuthlist, ofOverrides, ofServers } from './attention_network.ts';
import type { Known } from './known.ts';

const contractEndsSoonSeconds = 30 * daySeconds;

const usage = { path: paths.usage, text: 'Usage' };
/** Pages with exactly the rows that an item names. */
const tokensBy = (state: { state: string; ends?: string }) => ({
  path: addressOf(paths.tokens, state),
  text: 'API tokens',
});
const ownSignIn = { path: paths.signIn, text: 'Your sign-in' };

function ofContract({ contract, now }: Known): Item[] {
  if (!contract) return [];
  const items: Item[] = [];
  if (contract.suspended) {
    items.push({
      key: 'suspended',
      tone: 'bad',
      sentence:
        'Your contract is suspended: connections are refused and nothing can be changed. Ask your provider.',
    });
  }
  const remainingSeconds = contract.expiry - now;
  if (remainingSeconds <= 0) {
    items.push({
      key: 'expired',
      tone: 'bad',
      sentence: `The contract ended on ${date(contract.expiry)}: connections are refused. Ask your provider to renew it.`,
    });
  } else if (remainingSeconds <= contractEndsSoonSeconds) {
    items.push({
      key: 'ending',
      tone: 'warn',
      sentence: `The contract ends ${fromNow(contract.expiry, now)}, on ${date(contract.expiry)}. Ask your provider to renew it.`,
    });
  }
  return items;
}

function ofLimit({ contract, seesUsage, forecast, servers = {}, now }: Known): Item[] {
  if (!contract) return [];
  const items: Item[] = [];
  const { period, on_limit } = contract;
  const follows = on_limit === 'refuse' ? 'connections are refused' : 'extra traffic is billed';
  if (contract.over_limit) {
    items.push({
      key: 'over',
      tone: 'bad',
      sentence: `The limit${seesUsage ? ` of ${bytes(period.limit)}` : ''} is used up: ${follows} until the next period begins ${fromNow(period.end, now)}.`,
      ...(seesUsage && { link: usage }),
    });
  } else if (forecast?.limit_reached_at !== undefined) {
    items.push({
      key: 'forecast',
      tone: 'warn',
      sentence: `You’re on track to reach the limit of ${bytes(period.limit)} ${fromNow(forecast.limit_reached_at, now)}, before the period ends. Then ${follows}.`,
      link: usage,
    });
  }
  const over = servers.over_limit;
  if (contract.detailed_billing && over && over.found > 0) {
    const names = over.rows.map(({ server }) => server);
    items.push({
      key: 'over-server',
      tone: 'bad',
      sentence: `${named(names, over.found)} reached ${over.found === 1 ? 'its' : 'their'} own limit: ${follows} there.`,
      link: { path: addressOf(paths.servers, { state: 'over_limit' }), text: 'Servers' },
    });
  }
  return items;
}

function ofTokens({ tokensOver: over, tokensEnding: ending, now }: Known): Item[] {
  const items: Item[] = [];
  const namesOf = ({ rows, found: matchCount }: NonNullable<typeof over>) =>
    named(
      rows.map(({ name }) => name),
      matchCount,
    );
  if (over && over.found > 0) {
    items.push({
      key: 'tokens-over',
      tone: 'warn',
      sentence: `${count(over.found, 'API token has', 'API tokens have')} expired: ${namesOf(over)}. Remove or replace ${over.found === 1 ? 'it' : 'them'}.`,
      link: tokensBy({ state: 'expired' }),
    });
  }
  if (ending && ending.found > 0) {
    const [first] = ending.rows;
    items.push({
      key: 'tokens-ending',
      tone: 'warn',
      sentence:
        ending.found === 1
          ? `The API token ${first?.name} ends ${fromNow(first?.expiry ?? now, now)}; programs that use it stop working then.`
          : `${count(ending.found, 'API token ends', 'API tokens end')} within 7 days: ${namesOf(ending)}. Programs that use them stop working then.`,
      link: tokensBy({ state: 'active', ends: '7d' }),
    });
  }
  return items;
}

function ofUsers({ invited }: Known): Item[] {
  if (!invited || invited.found === 0) return [];
  const { found: matchCount, rows } = invited;
  const names = rows.map(({ name }) => name);
  return [
    {
      key: 'invited',
      tone: 'note',
      sentence: `${count(matchCount, 'invited user has', 'invited users have')} not signed in yet: ${named(names, matchCount)}.`,
      link: { path: addressOf(paths.users, { state: 'invited' }), text: 'Users' },
    },
  ];
}

function ofPerson({ session }: Known): Item[] {
  if (!session || session.second_factor) return [];
  return [
    {
      key: 'second-factor',
      tone: 'note',
      sentence: session.has_password
        ? 'You sign in with a password only. A second factor protects you even if the password leaks.'
        : 'You have no password yet. Set one, and a second factor, so that you can sign in again later.',
      link: ownSignIn,
    },
  ];
}

const ofLastHours = ({ notices, now }: Known): Item[] =>
  notices ? ofNotices(notices, paths.refusals, true, now) : [];

/** The things that need attention, the worst first. */
export function attention(facts: Known): Item[] {
  const rules = [
    ofContract,
    ofLimit,
    ofServers,
    ofAuthlist,
    ofOverrides,
    ofTokens,
    ofUsers,
    ofLastHours,
    ofPerson,
  ];
  return worstFirst(rules.flatMap((rule) => rule(facts)));
}
