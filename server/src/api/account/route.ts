// Adds the routes of /v0: a read, whose response can be cached, or a change, which is one transaction.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Static, TSchema } from 'typebox';
import type { Transaction } from '../../db/database.ts';
import { requireValid } from '../../http/errors.ts';
import { errors, type IdPath, idOf } from '../../http/fields.ts';
import type { V0Config } from './checks.ts';
import type { AccountContext } from './context.ts';
import type { Freshness } from './response_cache.ts';
import { type Changed, change, respond } from './responses.ts';

/** The facts of a route: its words and shapes in the OpenAPI document, and its place in the interface. */
export interface RouteFacts<Params extends TSchema, Query extends TSchema, Body extends TSchema>
  extends V0Config {
  summary: string;
  tags: readonly string[];
  params?: Params;
  query?: Query;
  body?: Body;
  /** The body of the response, by its status. */
  response: Record<number, TSchema>;
  errors: number[];
  /** Throws when the record that the path names is not there; runs before the body is read. */
  find?: (request: FastifyRequest) => Promise<unknown>;
  /** True: the handler looks for the record before the query is checked. */
  findFirst?: true;
}

type RequestOf<
  Params extends TSchema,
  Query extends TSchema,
  Body extends TSchema,
> = FastifyRequest<{
  Params: Static<Params>;
  Querystring: Static<Query>;
  Body: Static<Body>;
}>;

export const accountOf = ({ session }: FastifyRequest) => session.principal.account_id;

/** The id of an `{id}` path; undefined when it is none. */
export const idIn = ({ params }: FastifyRequest) => idOf((params as IdPath).id);

function optionsOf<Params extends TSchema, Query extends TSchema, Body extends TSchema>({
  summary,
  tags,
  params,
  query,
  body,
  response,
  errors: statuses,
  findFirst,
  ...config
}: RouteFacts<Params, Query, Body>) {
  return {
    config,
    ...(findFirst ? { attachValidation: true } : {}),
    schema: {
      summary,
      tags: [...tags],
      ...(params ? { params } : {}),
      ...(query ? { querystring: query } : {}),
      ...(body ? { body } : {}),
      response: { ...response, ...errors(...statuses) },
    },
  };
}

export class Routes {
  readonly #app: FastifyInstance;
  readonly #ctx: AccountContext;

  constructor(app: FastifyInstance, ctx: AccountContext) {
    this.#app = app;
    this.#ctx = ctx;
  }

  /** Adds a GET. `read` returns the value to show, and how long it holds. */
  read<P extends TSchema = TSchema, Q extends TSchema = TSchema, B extends TSchema = TSchema>(
    url: string,
    facts: RouteFacts<P, Q, B>,
    read: (request: RequestOf<P, Q, B>) => Promise<Freshness & { value: unknown }>,
  ): void {
    this.#app.get(url, optionsOf(facts), async (request, reply) => {
      const { value, ...freshness } = await read(request as RequestOf<P, Q, B>);
      requireValid(request);
      return respond(this.#ctx, request, reply, value, freshness);
    });
  }

  /** Adds a POST, PATCH or DELETE. `act` runs in the transaction, and may run twice. */
  change<P extends TSchema = TSchema, Q extends TSchema = TSchema, B extends TSchema = TSchema>(
    method: 'POST' | 'PATCH' | 'DELETE',
    url: string,
    facts: RouteFacts<P, Q, B>,
    act: (tx: Transaction, request: RequestOf<P, Q, B>) => Promise<Changed>,
  ): void {
    const handler = (request: FastifyRequest, reply: FastifyReply) =>
      change(this.#ctx, request, reply, (tx) => act(tx, request as RequestOf<P, Q, B>));
    this.#app.route({ method, url, ...optionsOf(facts), handler });
  }
}
