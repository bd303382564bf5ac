// Adds the routes of /v0: reads, whose responses can be cached, and changes, one transaction each.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { TSchema } from 'typebox';
import type { Transaction } from '../../db/database.ts';
import { requireValid } from '../../http/errors.ts';
import { type IdPath, idOf } from '../../http/fields.ts';
import { knownAddress } from '../../http/own_address.ts';
import { type Endpoint, type Route, type RouteRequest, schemaOf } from '../../http/route.ts';
import type { V0Config } from './checks.ts';
import type { AccountContext } from './context.ts';
import type { Freshness } from './response_cache.ts';
import { type Changed, change, respond } from './responses.ts';

/** The nouns of /v0 in the API document, in its order. */
export const accountTags = {
  Root: 'Where to start.',
  Contract: 'The contract of the account, and its usage of the whole network.',
  'Network servers': 'Every server of the network, on the contract or not.',
  'Contract servers': 'The servers added to the contract, with their exit IPs and health.',
  'Users and tokens':
    'The users of the contract, and proxy access tokens for them. Current variant only.',
  'IP authlist':
    'Addresses whose connections count as a user, without a password. Current variant; the earlier one knows the same list as the whitelist. One account at a time may list an address on a port scheme.',
  'IP whitelist (earlier variant)': 'The IP authlist under the path of the earlier variant.',
  'Custom DNS entries':
    'Hostname overrides: on the override port (the normal port plus 500) a server resolves a hostname to an address of your choice. `pending`: wanted, and not yet on every node of the server; `active`: wanted and applied; `expiring`: expired, and still applied somewhere; `expired`: neither. Expired entries stay in the list for 30 days.',
};

/** A route of /v0, without its handler. */
interface V0Route<Params extends TSchema, Body extends TSchema, Query extends TSchema>
  extends V0Config,
    Omit<Route<Params, Body, Query>, 'handle'> {
  tag: keyof typeof accountTags;
  /** Throws if the path's record does not exist; runs before the body is read. */
  find?: (request: FastifyRequest) => Promise<unknown>;
}

interface Read<Params extends TSchema, Body extends TSchema, Query extends TSchema>
  extends V0Route<Params, Body, Query> {
  /** True: the handler looks for the record before the query is checked. */
  findFirst?: true;
  /** Returns the value to show, and how long it holds. */
  handle: (request: RouteRequest<Params, Body, Query>) => Promise<Freshness & { value: unknown }>;
}

interface Change<Params extends TSchema, Body extends TSchema, Query extends TSchema>
  extends V0Route<Params, Body, Query> {
  /** Runs in the transaction, and may run twice. */
  handle: (tx: Transaction, request: RouteRequest<Params, Body, Query>) => Promise<Changed>;
}

export const accountOf = ({ session }: FastifyRequest) => session.principal.account_id;

/** The id of an `{id}` path; undefined if it is none. */
export const idIn = ({ params }: FastifyRequest) => idOf((params as IdPath).id);

/** The options that reads and changes share. */
function optionsOf<Params extends TSchema, Body extends TSchema, Query extends TSchema>(
  endpoint: Endpoint,
  route: V0Route<Params, Body, Query>,
) {
  const [method = '', url = ''] = endpoint.split(' ');
  const { tag, variant, counterpart, find } = route;
  const config = { variant, counterpart, ...(find ? { find } : {}) };
  return { method, url, config, schema: schemaOf(route, { tag }) };
}

export class Routes {
  readonly #app: FastifyInstance;
  readonly #ctx: AccountContext;

  constructor(app: FastifyInstance, ctx: AccountContext) {
    this.#app = app;
    this.#ctx = ctx;
  }

  /** Adds a GET. */
  read<P extends TSchema = TSchema, B extends TSchema = TSchema, Q extends TSchema = TSchema>(
    endpoint: Endpoint,
    route: Read<P, B, Q>,
  ): void {
    this.#app.route({
      ...optionsOf(endpoint, route),
      attachValidation: route.findFirst ?? false,
      handler: async (request, reply) => {
        const { value, ...freshness } = await route.handle(request as RouteRequest<P, B, Q>);
        requireValid(request);
        return respond(this.#ctx, request, reply, value, freshness);
      },
    });
  }

  /** Adds a POST, PATCH or DELETE. */
  change<P extends TSchema = TSchema, B extends TSchema = TSchema, Q extends TSchema = TSchema>(
    endpoint: Endpoint,
    route: Change<P, B, Q>,
  ): void {
    this.#app.route({
      ...optionsOf(endpoint, route),
      handler: (request, reply) => {
        // A GET proves nothing: a machine can be led to fetch a URL with another account's token.
        const address = knownAddress(request);
        if (address !== undefined) this.#ctx.callers.note(accountOf(request), address);
        return change(this.#ctx, request, reply, (tx) =>
          route.handle(tx, request as RouteRequest<P, B, Q>),
        );
      },
    });
  }
}
