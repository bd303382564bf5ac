// …/views: the saved views of the person who asks, at /console and at /admin.
import type { FastifyContextConfig, FastifyInstance, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import type { Context } from '../context.ts';
import type { Transaction } from '../db/database.ts';
import { IdPath, Integer, idOf, Named, Text } from '../http/fields.ts';
import { addRoute, type Endpoint, type Route } from '../http/route.ts';
import {
  longestView,
  maxViews,
  removeView,
  requireView,
  saveView,
  type Viewer,
  viewsOf,
} from '../saved_views/saved_views.ts';

const { page, name, query } = longestView;
const fields = {
  page: Text('The address of the list in the console.', page),
  name: Text('Unique on the page, for each person.', name),
  query: Text('The filters, the order and the columns, as in the address.', query),
};
const SavedView = Named('SavedView', { id: Integer('Names it in paths.', 1), ...fields });
const NewView = Named('NewSavedView', {
  ...fields,
  replace: Type.Optional(
    Type.Boolean({ description: 'Whether a view of this page and name may be replaced.' }),
  ),
});

/** The differences between people and operators. */
interface Viewers {
  prefix: '/console' | '/admin';
  tag: string;
  config: FastifyContextConfig;
  /** Errors of changes, in addition to those of every route of the audience. */
  errors: readonly number[];
  viewerOf(request: FastifyRequest): Viewer;
  write<T>(request: FastifyRequest, action: (tx: Transaction) => Promise<T>): Promise<T>;
}

export function savedViewRoutes(
  app: FastifyInstance,
  ctx: Context,
  { prefix, tag, config, errors, viewerOf, write }: Viewers,
): void {
  const list: Route = {
    summary: "One's own saved views of lists, in the order in which they were saved",
    answer: Type.Array(SavedView),
    handle: (request) => viewsOf(ctx.db, viewerOf(request)),
  };
  addRoute(app, `GET ${prefix}/views`, { tag, config }, list);

  const at = (endpoint: `${'PUT' | 'DELETE'} /views${string}`) =>
    endpoint.replace(' ', ` ${prefix}`) as Endpoint;
  addRoute(
    app,
    at('PUT /views'),
    { tag, config, errors },
    {
      id: 'save_view',
      summary: 'Save a view of a list',
      description: `At most ${maxViews.page} on a page, and ${maxViews.all} in all.`,
      body: NewView,
      answer: SavedView,
      statuses: { 409: 'There is a view of this page and name, or there are too many.' },
      handle: (request) => {
        const { replace = false, ...view } = request.body;
        return write(request, (tx) => saveView(tx, viewerOf(request), view, replace));
      },
    },
  );

  const find = (request: FastifyRequest) =>
    requireView(ctx.db, viewerOf(request), idOf((request.params as IdPath).id));
  addRoute(
    app,
    at('DELETE /views/:id'),
    { tag, config: { ...config, find }, errors },
    {
      summary: 'Remove a saved view',
      params: IdPath,
      handle: (request) =>
        write(request, (tx) => removeView(tx, viewerOf(request), idOf(request.params.id))),
    },
  );
}
