// …/contract: the contract of an account and its state.
import { Type } from 'typebox';
import { requireAccount } from '../../accounts/accounts.ts';
import type { Reader } from '../../db/database.ts';
import { Integer, Named, OneOf, Strict, Timestamp } from '../../http/fields.ts';
import { listPortSchemes, overrideOffset } from '../../port_schemes/port_schemes.ts';
import { periodUsage } from '../../usage/usage.ts';
import { earlierPeriods, periodAt } from '../../values/periods.ts';
import type { Mount } from './mount.ts';

const Contract = Named('ConsoleContract', {
  name: Type.String({ description: 'Contract/account name.' }),
  plan: Type.String({ description: 'Plan name.' }),
  start: Timestamp('Contract start; billing periods are counted from it.'),
  expiry: Timestamp('When the contract ends.'),
  suspended: Type.Boolean({ description: 'Whether the operator has suspended it.' }),
  over_limit: Type.Boolean({ description: 'Whether the limit is used up.' }),
  on_limit: OneOf(
    ['refuse', 'allow'],
    'What nodes do over the limit: refuse connections, or allow and bill them.',
  ),
  detailed_billing: Type.Boolean({
    description: 'Detailed server billing: limits of single servers count.',
  }),
  period: Strict({
    start: Timestamp('Start of the running billing period.'),
    end: Timestamp('Its end, where the next one starts.'),
    usage: Integer('Bytes of the whole network in it.'),
    limit: Integer('Bytes that the contract allows in a period.'),
  }),
  earlier_periods: Type.Array(
    Strict({
      start: Timestamp(
        'Start of the billing period; but in the first, its hour counts to the one before.',
      ),
      end: Timestamp('Its end, where the next one started.'),
    }),
    { description: 'Billing periods that are over, newest first; two years of them at most.' },
  ),
  token_lifetime_seconds: Integer('Lifetime of proxy access tokens when none is asked for.'),
  ports: Type.Array(
    Strict({
      base: Integer("Plus an exit IP's `port_base`: the port that leads to it.", 1, 65_535),
      service: OneOf(['proxy', 'proxy-https'], 'What is served there: plain or over TLS.'),
    }),
    { description: 'The port scheme of the account.' },
  ),
  override_offset: Integer('How far above a port its override port is.'),
});

const maxEarlierPeriods = 24;

async function contractOf(db: Reader, account_id: number, now: number) {
  const account = await requireAccount(db, account_id);
  const { start, end } = periodAt(account.start, now);
  const [{ total }, schemes] = await Promise.all([
    periodUsage(db, account_id, start),
    listPortSchemes(db),
  ]);
  return {
    name: account.name,
    plan: account.plan,
    start: account.start,
    expiry: account.expiry,
    suspended: account.suspended === 1,
    over_limit: account.over_limit === 1,
    on_limit: account.on_limit,
    detailed_billing: account.detailed_billing === 1,
    period: { start, end, usage: total, limit: account.limit_bytes },
    earlier_periods: earlierPeriods(account.start, now, maxEarlierPeriods),
    token_lifetime_seconds: account.token_lifetime_seconds,
    ports: schemes.find(({ id }) => id === account.port_scheme_id)?.bases ?? [],
    override_offset: overrideOffset,
  };
}

export function contractRoutes({ ctx, routesOf }: Mount): void {
  const route = routesOf('account');
  route('GET /contract', {
    may: ['admin', 'billing', 'proxy'],
    summary: 'The contract, with usage in the running billing period',
    answer: Contract,
    handle: ({ scope }) => contractOf(ctx.db, scope.account_id, ctx.clock.now()),
  });
}
