// Adds a route of /node.
import type { FastifyInstance } from 'fastify';
import type { TSchema } from 'typebox';
import { addRoute, type Endpoint, type Route } from '../../http/route.ts';

export const nodeTags = {
  Nodes:
    'Join once with a code; then snapshot, change stream, acknowledgements, reports and answers.',
};

export const tooOften = 'This node reports too often; `Retry-After` says how long to wait.';

export const nodeRoute =
  (app: FastifyInstance) =>
  <Body extends TSchema = TSchema, Query extends TSchema = TSchema>(
    endpoint: Endpoint,
    route: Route<TSchema, Body, Query>,
  ): void =>
    addRoute(app, endpoint, { tag: 'Nodes' }, route);
