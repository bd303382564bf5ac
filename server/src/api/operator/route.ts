// Adds a route of /admin, for operators alone.
import type { FastifyInstance, FastifyRequest, HTTPMethods } from 'fastify';
import type { Static, TSchema } from 'typebox';
import { addRoute, type RouteFacts, type RouteHandler } from '../../http/route.ts';

interface OperatorFacts<Params extends TSchema, Body extends TSchema, Query extends TSchema>
  extends RouteFacts<Params, Body, Query> {
  /** Throws 404 when the record that the path names is not there; before the body is read. */
  find?: (names: Static<Params>) => Promise<unknown>;
}

/** Adds a route for each call; `tag`: where the API document shows it. */
export function operatorRoute(app: FastifyInstance, tag: string) {
  return function route<
    Params extends TSchema = TSchema,
    Body extends TSchema = TSchema,
    Query extends TSchema = TSchema,
  >(
    method: HTTPMethods,
    path: string,
    facts: OperatorFacts<Params, Body, Query>,
    handle: RouteHandler<Params, Body, Query>,
  ): void {
    const { find } = facts;
    const usual = {
      tags: [tag],
      config: find ? { find: async ({ params }: FastifyRequest) => find(params as never) } : {},
      errors: facts.params ? [400, 401, 404] : [400, 401],
    };
    addRoute(app, method, path, usual, facts, handle);
  };
}
