// GET /v0 and GET /v0/contract.
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { requireAccount } from '../../accounts/accounts.ts';
import { Integer, Named, OneOf, Strict, Timestamp } from '../../http/fields.ts';
import { listPortSchemes } from '../../port_schemes/port_schemes.ts';
import { periodUsage } from '../../usage/usage.ts';
import { periodAt } from '../../values/periods.ts';
import type { AccountContext } from './context.ts';
import { accountOf, Routes } from './route.ts';

const Index = Named('Index', {
  name: Type.String({ description: 'Contract/account name.' }),
  variant: Type.Union([Type.Literal('current'), Type.Literal('earlier')], {
    description: 'The variant of the interface that this request speaks.',
  }),
  version: Type.Literal('v0', { description: 'The version of the interface.' }),
  links: Type.Record(Type.String(), Type.String(), {
    description: 'Paths of this variant, by what they list.',
  }),
  ports: Type.Array(
    Strict({
      base: Integer("Plus an exit IP's `port_base`: the port that leads to it.", 1, 65_535),
      service: OneOf(['proxy', 'proxy-https'], 'What is served there: plain or over TLS.'),
    }),
    { description: 'The port scheme of the account.' },
  ),
});

const Contract = Named('Contract', {
  name: Type.String({ description: 'Contract/account name.' }),
  plan: Type.String({ description: 'Plan name.' }),
  period: Strict({
    start: Timestamp('Start of the running billing period.'),
    end: Timestamp('Its end, where the next one starts.'),
    usage: Integer('Bytes of the whole network in this period.'),
    limit: Integer('Bytes that the contract allows in a period.'),
  }),
  expiry: Timestamp('When the contract ends.'),
});

const commonLinks = {
  servers: '/v0/servers',
  contract: '/v0/contract',
  contract_servers: '/v0/contract/servers',
  overrides: '/v0/contract/overrides',
};
const links = {
  current: {
    ...commonLinks,
    authlist: '/v0/contract/ip-authlist',
    users: '/v0/users',
    token: '/v0/users/token',
  },
  earlier: { ...commonLinks, whitelist: '/v0/contract/whitelist' },
};

export function contractRoutes(app: FastifyInstance, ctx: AccountContext): void {
  const routes = new Routes(app, ctx);
  routes.read('GET /v0', {
    id: 'get_index',
    summary: 'Check credentials; lists what there is',
    tag: 'Root',
    answer: Index,
    handle: async (request) => {
      const { account_name, variant } = request.session.principal;
      const [{ port_scheme_id }, schemes] = await Promise.all([
        requireAccount(ctx.db, accountOf(request)),
        listPortSchemes(ctx.db),
      ]);
      const ports = schemes.find(({ id }) => id === port_scheme_id)?.bases ?? [];
      return {
        value: { name: account_name, variant, version: 'v0', links: links[variant], ports },
        network: true,
      };
    },
  });

  routes.read('GET /v0/contract', {
    summary: 'The contract, with usage in the running billing period',
    tag: 'Contract',
    answer: Contract,
    handle: async (request) => {
      const account = await requireAccount(ctx.db, accountOf(request));
      const { start, end } = periodAt(account.start, ctx.clock.now());
      const { total } = await periodUsage(ctx.db, account.id, start);
      const { name, plan, expiry, limit_bytes } = account;
      return {
        value: { name, plan, period: { start, end, usage: total, limit: limit_bytes }, expiry },
        valid_until: end,
        usage: true,
      };
    },
  });
}
