// /admin/accounts: the operator creates accounts, changes their contracts, and sees their state.

import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import {
  type Account,
  accountPageSlices,
  accountSorts,
  accountStates,
  changeAccount,
  createAccount,
  findAccountNamed,
  pageOfAccounts,
  requireAccountNamed,
} from '../../accounts/accounts.ts';
import { networkVersion } from '../../changes/changes.ts';
import type { Context } from '../../context.ts';
import type { Reader } from '../../db/database.ts';
import { inTurns } from '../../db/slices.ts';
import { invalidField, notFound } from '../../errors.ts';
import { Integer, Name, Named, OneOf, Strict, Text, Timestamp } from '../../http/fields.ts';
import { limitIn, PageQuery, pageOf } from '../../http/paging.ts';
import { requireChange } from '../../http/responses.ts';
import { created } from '../../http/route.ts';
import { listPortSchemes } from '../../port_schemes/port_schemes.ts';
import { periodTotals } from '../../usage/usage.ts';
import { periodAt } from '../../values/periods.ts';
import { Changed, oneIsMissing, rejectRepeated } from '../at_once.ts';
import { EndsBefore, filterIn, listQuery, pageIn, readPage } from '../list_pages.ts';
import { LongReads } from '../long_reads.ts';
import { AccountPath, operatorWrite } from './checks.ts';
import { operatorRoute } from './route.ts';

const tenYearsSeconds = 10 * 365.25 * 86_400;

const Plan = Text('Plan name.', 64);
const Start = Integer('Contract start, epoch seconds; billing periods are counted from it.');
const Expiry = Integer('When the contract ends, epoch seconds.');
const Limit = Integer('Bytes that the contract allows in a billing period.');
const Detailed = Type.Boolean({
  description: 'Detailed server billing: limits of single servers count.',
});
const OnLimit = OneOf(
  ['refuse', 'allow'],
  'What nodes do over the limit: refuse connections, or allow and bill them.',
);
const Scheme = Name('Port scheme, by name.');
const Lifetime = Integer(
  'Lifetime of proxy access tokens when none is asked for.',
  1,
  tenYearsSeconds,
);

const AccountRecord = Named('Account', {
  name: Type.String({ description: 'Account name.' }),
  plan: Plan,
  start: Timestamp('Contract start; billing periods are counted from it.'),
  expiry: Timestamp('When the contract ends.'),
  limit_bytes: Limit,
  period: Strict({
    start: Timestamp('Start of the running billing period.'),
    end: Timestamp('Its end.'),
    usage: Integer('Bytes of the whole network in it.'),
  }),
  over_limit: Type.Boolean({ description: 'Whether the limit is used up.' }),
  on_limit: OnLimit,
  detailed_billing: Detailed,
  suspended: Type.Boolean({ description: 'Whether the operator has suspended it.' }),
  port_scheme: Type.String({ description: 'Port scheme, by name.' }),
  token_lifetime_seconds: Lifetime,
  created_at: Timestamp('When it was created.'),
});
export const NewAccount = Named('NewAccount', {
  name: Name('Account name; it stays.'),
  plan: Plan,
  start: Type.Optional(Start),
  expiry: Expiry,
  limit_bytes: Limit,
  detailed_billing: Type.Optional(Detailed),
  on_limit: Type.Optional(OnLimit),
  port_scheme: Type.Optional(Scheme),
  token_lifetime_seconds: Type.Optional(Lifetime),
});
const Query = Strict({
  ...listQuery(accountSorts, {
    ...EndsBefore,
    state: Type.Optional(
      OneOf(
        [...accountStates],
        'Only accounts in this state; active: none of the others but ending, which is that the contract ends within 30 days; over: over the limit.',
      ),
    ),
  }),
  ...PageQuery,
  sort: Type.Optional(
    OneOf([...accountSorts], 'What the accounts are sorted by; usage: of the running period.'),
  ),
});
const CreatedAccount = Named('CreatedAccount', {
  account: AccountRecord,
  api_token: Type.String({ description: 'The first API token (ewa_…) of the account.' }),
});
const AccountChanges = Named('AccountChanges', {
  plan: Type.Optional(Plan),
  start: Type.Optional(Start),
  expiry: Type.Optional(Expiry),
  limit_bytes: Type.Optional(Limit),
  detailed_billing: Type.Optional(Detailed),
  suspended: Type.Optional(Type.Boolean({ description: 'Suspends the contract, or lifts that.' })),
  on_limit: Type.Optional(OnLimit),
  port_scheme: Type.Optional(Scheme),
  token_lifetime_seconds: Type.Optional(Lifetime),
});

const maxAtOnce = 500;
const ManyChanges = Named('AccountsChanges', {
  accounts: Type.Array(
    Strict({
      account: Name('Account name.'),
      expiry: AccountChanges.properties.expiry,
      suspended: AccountChanges.properties.suspended,
    }),
    {
      description: `Which accounts, each once, and what changes of each: at most ${maxAtOnce}.`,
      minItems: 1,
      maxItems: maxAtOnce,
    },
  ),
});

/** Accounts as the operator sees them, with their usage in the current billing period. */
async function presentAccounts(db: Reader, accounts: Account[], now: number) {
  const schemes = new Map((await listPortSchemes(db)).map(({ id, name }) => [id, name]));
  const periods = accounts.map(({ id, start }) => [id, periodAt(start, now).start] as const);
  const usageOf = await periodTotals(db, periods);
  return accounts.map(({ id, port_scheme_id, ...account }) => {
    const { start, end } = periodAt(account.start, now);
    return {
      name: account.name,
      plan: account.plan,
      start: account.start,
      expiry: account.expiry,
      limit_bytes: account.limit_bytes,
      period: { start, end, usage: usageOf(id, start) },
      over_limit: account.over_limit === 1,
      on_limit: account.on_limit,
      detailed_billing: account.detailed_billing === 1,
      suspended: account.suspended === 1,
      port_scheme: schemes.get(port_scheme_id),
      token_lifetime_seconds: account.token_lifetime_seconds,
      created_at: account.created_at,
    };
  });
}

async function presentAccount(db: Reader, account: Account, now: number) {
  return (await presentAccounts(db, [account], now))[0];
}

export function accountRoutes(app: FastifyInstance, ctx: Context): void {
  const route = operatorRoute(app, 'Operator: accounts');
  const viewable = ctx.config.api_tokens === 'viewable';
  const longReads = new LongReads(ctx.db);

  route('GET /admin/accounts', {
    summary: 'List accounts, in pages',
    description:
      'By name, from behind the name `after` on; or sorted and filtered, with the counts, where the query says by what.',
    query: Query,
    answer: Type.Array(AccountRecord),
    handle: async ({ query }, reply) => {
      const now = ctx.clock.now();
      const { limit, after = '', ...rest } = query;
      if (Object.keys(rest).length === 0) {
        const maxRows = limitIn(limit);
        const accounts = await pageOfAccounts(ctx.db, after, maxRows + 1);
        const rows = pageOf(reply, accounts, maxRows, (last) => ({ after: last.name }));
        return presentAccounts(ctx.db, rows, now);
      }
      const page = pageIn({ sort: 'name', limit: '100', ...query });
      const filter = { ...filterIn(query), state: query.state };
      const slices = (db: Reader) => accountPageSlices(db, filter, page, now);
      const rows = await readPage({ longReads }, reply, networkVersion, page, slices);
      return presentAccounts(ctx.db, rows, now);
    },
  });

  route('POST /admin/accounts', {
    summary: 'Create an account with its first API token',
    body: NewAccount,
    created: CreatedAccount,
    errors: [409],
    handle: async (request) => {
      const value = await operatorWrite(ctx, request, async (tx) => {
        const { account, api_token } = await createAccount(tx, ctx.secrets, viewable, request.body);
        return { account: await presentAccount(tx, account, tx.now), api_token };
      });
      return created(`/admin/accounts/${request.body.name}`, value);
    },
  });

  route('PATCH /admin/accounts', {
    id: 'change_accounts',
    summary: 'Suspend accounts, lift that, or change when their contracts end; all or none',
    description: 'Each as a change of it alone would; an error names the account by its place.',
    body: ManyChanges,
    answer: Changed,
    statuses: { 404: oneIsMissing('accounts') },
    handle: async (request) => {
      const { accounts } = request.body;
      rejectRepeated(
        accounts.map(({ account }) => account),
        (at) => `accounts.${at}.account`,
      );
      await operatorWrite(ctx, request, async (tx) => {
        for await (const [at, { account, ...changes }] of inTurns([...accounts.entries()])) {
          const within = `accounts.${at}.`;
          if (Object.keys(changes).length === 0) {
            throw invalidField(
              `accounts.${at}`,
              'changes nothing; expected `expiry` or `suspended`.',
            );
          }
          const before = await findAccountNamed(tx, account);
          if (!before) {
            throw notFound(
              `there is no account named ${JSON.stringify(account)}. Nothing was done.`,
              {
                field: `${within}account`,
              },
            );
          }
          await changeAccount(tx, before, changes, within);
        }
      });
      return { changed: accounts.length };
    },
  });

  route('GET /admin/accounts/:account', {
    summary: 'One account',
    params: AccountPath,
    answer: AccountRecord,
    handle: async ({ params }) => {
      const account = await requireAccountNamed(ctx.db, params.account);
      return presentAccount(ctx.db, account, ctx.clock.now());
    },
  });

  route('PATCH /admin/accounts/:account', {
    find: ({ account }) => requireAccountNamed(ctx.db, account),
    summary: 'Change the contract of an account',
    description:
      'Nodes apply it at once: over a lowered limit, suspended or ended, they refuse connections.',
    params: AccountPath,
    body: AccountChanges,
    answer: AccountRecord,
    errors: [409],
    handle: async (request) => {
      requireChange(request.body);
      return operatorWrite(ctx, request, async (tx) => {
        const before = await requireAccountNamed(tx, request.params.account);
        const account = await changeAccount(tx, before, request.body);
        return presentAccount(tx, account, tx.now);
      });
    },
  });
}
