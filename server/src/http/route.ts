// A route in few words: its schema from what it takes and answers, its response from what its handler returns.
import type { FastifyContextConfig, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Static, TSchema } from 'typebox';
import { sendCreated, sendJson, sendNothing } from './responses.ts';

/** The method of a route and its path. */
export type Endpoint = `${'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'} /${string}`;

/** The words of a route in the API document, and the shapes of its responses: the server itself reads none of it. */
export interface Words {
  /** The id of the operation, without its audience, where it does not follow from method and path. */
  id?: string;
  summary: string;
  description?: string;
  /** The body of its response 200. Neither this nor `created`: 204. */
  answer?: TSchema;
  /** The body of its response 201. */
  created?: TSchema;
  /** Statuses of errors, beyond those that every route of its audience may answer. */
  errors?: readonly number[];
  /** The meaning of a status, where the usual words say too little; an error that has one need not be in `errors`. */
  statuses?: Readonly<Record<number, string | undefined>> | undefined;
  /** Whether it takes no credentials; the checks of its audience decide. */
  open?: true;
}

declare module 'fastify' {
  interface FastifySchema {
    /** Of the routes that the API document shows. */
    words?: Words & { tag: string };
  }
}

/** A route: the schemas of what it takes and answers, its words in the API document, and its handler. */
export interface Route<
  Params extends TSchema = TSchema,
  Body extends TSchema = TSchema,
  Query extends TSchema = TSchema,
> extends Words {
  params?: Params;
  body?: Body;
  query?: Query;
  /** The most bytes of its body, where that is not the usual. */
  bodyLimit?: number;
  /** Returns what is sent: `undefined` 204, a `Created` 201, the reply what it sent itself, anything else 200. */
  handle: (request: RouteRequest<Params, Body, Query>, reply: FastifyReply) => Promise<unknown>;
}

export type RouteRequest<
  Params extends TSchema,
  Body extends TSchema,
  Query extends TSchema,
> = FastifyRequest<{ Params: Static<Params>; Body: Static<Body>; Querystring: Static<Query> }>;

class Created {
  readonly location: string;
  readonly value: unknown;

  constructor(location: string, value: unknown) {
    this.location = location;
    this.value = value;
  }
}

/** The response 201 of a handler: a new record, and where it is from now on. */
export const created = (location: string, value: unknown) => new Created(location, value);

/** The facts of every route of an audience. */
interface Usual {
  /** Under which the API document shows them. */
  tag: string;
  config?: FastifyContextConfig;
  errors?: readonly number[];
}

/** The schema of a route: of its requests, and its words. */
export function schemaOf<Params extends TSchema, Body extends TSchema, Query extends TSchema>(
  route: Omit<Route<Params, Body, Query>, 'handle'>,
  usual: Usual,
) {
  const { params, body, query, errors = [] } = route;
  const words = { ...route, tag: usual.tag, errors: [...(usual.errors ?? []), ...errors] };
  return {
    ...(params ? { params } : {}),
    ...(body ? { body } : {}),
    ...(query ? { querystring: query } : {}),
    words,
  };
}

/** Adds a route. */
export function addRoute<Params extends TSchema, Body extends TSchema, Query extends TSchema>(
  app: FastifyInstance,
  endpoint: Endpoint,
  usual: Usual,
  route: Route<Params, Body, Query>,
): void {
  const [method = '', url = ''] = endpoint.split(' ');
  app.route({
    method,
    url,
    config: usual.config ?? {},
    ...(route.bodyLimit === undefined ? {} : { bodyLimit: route.bodyLimit }),
    schema: schemaOf(route, usual),
    handler: async (request, reply) => {
      const value = await route.handle(request as RouteRequest<Params, Body, Query>, reply);
      if (value === reply) return reply;
      if (value instanceof Created) return sendCreated(reply, value.location, value.value);
      return value === undefined ? sendNothing(reply) : sendJson(reply, value);
    },
  });
}
