// Adds a route of /admin, for operators alone.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Static, TSchema } from 'typebox';
import { addRoute, type Endpoint, type Route } from '../../http/route.ts';

interface OperatorRoute<Params extends TSchema, Body extends TSchema, Query extends TSchema>
  extends Route<Params, Body, Query> {
  /** Throws 404 when the record that the path names is not there; before the body is read. */
  find?: (names: Static<Params>) => Promise<unknown>;
}

/** Answers a function that adds a route under this tag of the API document. */
export function operatorRoute(app: FastifyInstance, tag: string) {
  return <
    Params extends TSchema = TSchema,
    Body extends TSchema = TSchema,
    Query extends TSchema = TSchema,
  >(
    endpoint: Endpoint,
    route: OperatorRoute<Params, Body, Query>,
  ): void => {
    const { find } = route;
    const usual = {
      tag,
      config: find ? { find: async ({ params }: FastifyRequest) => find(params as never) } : {},
    };
    addRoute(app, endpoint, usual, route);
  };
}
