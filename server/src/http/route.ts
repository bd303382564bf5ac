// A route in few words: its schema from its fields, its response from its handler's value.
import type { FastifyContextConfig, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Static, TSchema } from 'typebox';
import { sendCreated, sendJson, sendNothing } from './responses.ts';

/** The method of a route and its path. */
export type Endpoint = `${'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'} /${string}`;

/** How the API document describes a route and its responses; the server itself reads none of it. */
export interface Words {
  /** The operation's id, without its audience, if it does not follow from method and path. */
  id?: string;
  summary: string;
  description?: string;
  /** The body of its response 200. With neither this nor `created`: 204. */
  answer?: TSchema;
  /** The body of its response 201. */
  created?: TSchema;
  /** Statuses of errors, in addition to those of every route of its audience. */
  errors?: readonly number[];
  /** Words for a status, if the usual ones say too little; `errors` may then omit it. */
  statuses?: Readonly<Record<number, string | undefined>> | undefined;
  /** Whether it takes no credentials; its audience's checks decide. */
  open?: true;
}

declare module 'fastify' {
  interface FastifySchema {
    /** Set for routes that the API document shows. */
    words?: Words & { tag: string };
  }
}

/** A route: its schemas, its words in the API document, and its handler. */
export interface Route<
  Params extends TSchema = TSchema,
  Body extends TSchema = TSchema,
  Query extends TSchema = TSchema,
> extends Words {
  params?: Params;
  body?: Body;
  query?: Query;
  /** The largest body in bytes, if it is not the usual. */
  bodyLimit?: number;
  /** The handler itself calls `requireValid`. */
  attachValidation?: true;
  /** Returns what is sent: `undefined` 204, a `Created` 201, a reply as it is, else 200. */
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

/** The response 201 of a handler: a new record, and its location. */
export const created = (location: string, value: unknown) => new Created(location, value);

/** The facts that all routes of an audience share. */
interface Usual {
  /** The group that the API document shows them in. */
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
    attachValidation: route.attachValidation ?? false,
    schema: schemaOf(route, usual),
    handler: async (request, reply) => {
      const value = await route.handle(request as RouteRequest<Params, Body, Query>, reply);
      if (value === reply) return reply;
      if (value instanceof Created) return sendCreated(reply, value.location, value.value);
      return value === undefined ? sendNothing(reply) : sendJson(reply, value);
    },
  });
}
