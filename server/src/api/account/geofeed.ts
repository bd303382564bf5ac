// /geofeed.csv: the network's geofeed, public if the operator publishes it.
import type { FastifyInstance } from 'fastify';
import { CachedGeofeed, geofeedType } from '../../geofeed/geofeed.ts';
import { etagMatches } from '../../http/conditions.ts';
import type { AccountContext } from './context.ts';

export function geofeedRoutes(app: FastifyInstance, ctx: AccountContext): void {
  const geofeed = new CachedGeofeed(ctx.db, ctx.versions, ctx.log);

  app.get('/geofeed.csv', async (request, reply) => {
    const { body, etag } = await geofeed.current();
    // The same for every client: providers come once a day, or through caches.
    reply.header('etag', etag).header('cache-control', 'public, max-age=300').removeHeader('vary');
    if (etagMatches(request.headers['if-none-match'], etag)) return reply.code(304).send();
    return reply.type(geofeedType).send(body);
  });
}
