// Adds a route of this folder for one audience: at /console/… for people, at /admin/accounts/{account}/… for operators.
import type { FastifyInstance, FastifyRequest, HTTPMethods } from 'fastify';
import { type Static, type TObject, type TSchema, Type } from 'typebox';
import type { Context } from '../../context.ts';
import { addRoute, type RouteFacts, type RouteHandler } from '../../http/route.ts';
import { AccountPath } from '../operator/checks.ts';
import type { Flag } from './checks.ts';
import type { Audience, Noun, Scope } from './scope.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The account that is asked about and what the client may do, in handlers of this folder. */
    scope: Scope;
  }
}

interface ManageFacts<Params extends TSchema, Body extends TSchema, Query extends TSchema>
  extends RouteFacts<Params, Body, Query> {
  noun: Noun;
  /** The flags of which a person needs one; none named: everybody who is signed in. */
  may: readonly Flag[];
  /** Whether it changes records, which people can only while their contract holds. */
  record?: boolean;
  /** Throws 404 (or 403) when what the path names is not there for this client; before the body is read. */
  find?: (scope: Scope, names: Static<Params>, request: FastifyRequest) => unknown;
}

/** What a file of routes works with. */
export interface Mount {
  ctx: Context;
  audience: Audience;
  write: Audience['write'];
  /** Adds a route; `path` begins behind the audience's prefix. */
  route<
    Params extends TSchema = TSchema,
    Body extends TSchema = TSchema,
    Query extends TSchema = TSchema,
  >(
    method: HTTPMethods,
    path: string,
    facts: ManageFacts<Params, Body, Query>,
    handle: RouteHandler<Params, Body, Query>,
  ): void;
}

export function mountFor(app: FastifyInstance, ctx: Context, audience: Audience): Mount {
  if (!app.hasRequestDecorator('scope')) app.decorateRequest('scope', null as never);
  const { prefix, is_operator, tags } = audience;

  const route: Mount['route'] = (method, path, facts, handle) => {
    const { may, record = false, find } = facts;
    const isForPeopleWithFlags = !is_operator && (may.length > 0 || method !== 'GET');
    const isOfRecord = is_operator || facts.params !== undefined;
    const usual = {
      tags: [tags[facts.noun]],
      config: {
        ...(is_operator ? {} : { console: { may, record } }),
        find: async (request: FastifyRequest) => {
          request.scope = await audience.scopeOf(request);
          await find?.(request.scope, request.params as never, request);
        },
      },
      errors: [400, 401, ...(isForPeopleWithFlags ? [403] : []), ...(isOfRecord ? [404] : [])],
    };
    const shown = is_operator ? forOperators(facts, record) : facts;
    addRoute(app, method, prefix + path, usual, shown, handle);
  };
  return { ctx, audience, route, write: audience.write };
}

/** The path of an operator names the account, too; and the contract may be suspended or over. */
function forOperators<Params extends TSchema, Body extends TSchema, Query extends TSchema>(
  facts: ManageFacts<Params, Body, Query>,
  record: boolean,
): ManageFacts<Params, Body, Query> {
  const names = (facts.params as unknown as TObject | undefined)?.properties ?? {};
  const params = Type.Object({ ...AccountPath.properties, ...names }) as unknown as Params;
  if (!record) return { ...facts, params };
  const ownLine = facts.description === undefined ? '' : `${facts.description} `;
  const description = `${ownLine}Works on a suspended or expired contract too.`;
  return { ...facts, params, description };
}
