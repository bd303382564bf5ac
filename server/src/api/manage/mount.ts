// Adds a route of this folder for an audience: /console for people, /admin/accounts for operators.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { type Static, type TObject, type TSchema, Type } from 'typebox';
import type { Context } from '../../context.ts';
import type { Reader } from '../../db/database.ts';
import { addRoute, type Endpoint, type Route } from '../../http/route.ts';
import { Lists, type Part } from '../lists.ts';
import { LongReads } from '../long_reads.ts';
import { AccountPath } from '../operator/checks.ts';
import type { Flag } from './checks.ts';
import type { Audience, Noun, Scope } from './scope.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The account of the request and the client's rights, in handlers of this folder. */
    scope: Scope;
  }
}

/** A route below the audience's prefix. */
interface ManageRoute<Params extends TSchema, Body extends TSchema, Query extends TSchema>
  extends Route<Params, Body, Query> {
  /** The flags of which a person needs one; none: everyone who is signed in. */
  may: readonly Flag[];
  /** Whether it changes records, which people can do only while their contract holds. */
  record?: boolean;
  /** Throws 404 (or 403) if the record does not exist for this client; before the body is read. */
  find?: (scope: Scope, names: Static<Params>, request: FastifyRequest) => unknown;
}

type AddManageRoute = <
  Params extends TSchema = TSchema,
  Body extends TSchema = TSchema,
  Query extends TSchema = TSchema,
>(
  endpoint: Endpoint,
  route: ManageRoute<Params, Body, Query>,
) => void;

/** The parts that a file of routes works with. */
export interface Mount {
  ctx: Context;
  audience: Audience;
  write: Audience['write'];
  /** The bytes of a list of an account; `name` identifies it. */
  listOf(
    account_id: number,
    name: string,
    read: (db: Reader) => AsyncIterable<Part>,
  ): Promise<Buffer>;
  /** For pages of the lists, which don't wait for whole lists. */
  longReads: LongReads;
  /** Answers a function that adds a route under this noun. */
  routesOf(noun: Noun): AddManageRoute;
}

export function mountFor(app: FastifyInstance, ctx: Context, audience: Audience): Mount {
  if (!app.hasRequestDecorator('scope')) app.decorateRequest('scope', null as never);
  const { prefix, is_operator, tags } = audience;
  // They show uses and nodes.
  const lists = new Lists(ctx, false);

  const routesOf = (noun: Noun): AddManageRoute => {
    return (endpoint, route) => {
      const { may, record = false, find } = route;
      const isChangeOfPerson = !is_operator && !endpoint.startsWith('GET ');
      const own_sign_in = noun === 'sign_in';
      const isForFlags = isChangeOfPerson || (!is_operator && may.length > 0);
      const usual = {
        tag: tags[noun],
        config: {
          ...(is_operator ? {} : { console: { may, record, own_sign_in } }),
          find: async (request: FastifyRequest) => {
            request.scope = await audience.scopeOf(request);
            await find?.(request.scope, request.params as never, request);
          },
        },
        errors: [...(isForFlags ? [403] : []), ...(isChangeOfPerson && !own_sign_in ? [429] : [])],
      };
      const whole = endpoint.replace(' ', ` ${prefix}`) as Endpoint;
      addRoute(app, whole, usual, is_operator ? forOperators(route) : route);
    };
  };
  const listOf: Mount['listOf'] = async (account_id, name, read) => {
    const versions = await ctx.versions.current(account_id);
    return (await lists.make(account_id, `${prefix} ${name}`, versions, read)).body;
  };
  const longReads = new LongReads(ctx.db);
  return { ctx, audience, listOf, longReads, routesOf, write: audience.write };
}

/** An operator's path also names the account, whose contract may be suspended or over. */
function forOperators<Params extends TSchema, Body extends TSchema, Query extends TSchema>(
  route: ManageRoute<Params, Body, Query>,
): ManageRoute<Params, Body, Query> {
  const names = (route.params as unknown as TObject | undefined)?.properties ?? {};
  const params = Type.Object({ ...AccountPath.properties, ...names }) as unknown as Params;
  // An operator has no flags.
  const { 403: _, ...statuses } = route.statuses ?? {};
  if (!route.record) return { ...route, params, statuses };
  const ownLine = route.description === undefined ? '' : `${route.description} `;
  const description = `${ownLine}Works on a suspended or expired contract too.`;
  return { ...route, params, statuses, description };
}
