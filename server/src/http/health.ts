// /healthz and /readyz: is the process alive, and can it serve?
import type { FastifyInstance } from 'fastify';
import type { Context } from '../context.ts';
import { lostFile } from '../db/faults.ts';
import { schemaIsCurrent } from '../db/migrate.ts';
import { unavailable } from '../errors.ts';

export function healthRoutes(app: FastifyInstance, ctx: Context): void {
  app.get('/healthz', async (_request, reply) => reply.send('{"status":"ok"}'));

  app.get('/readyz', async (_request, reply) => {
    await ctx.db.one('select 1');
    if (ctx.db.isLost?.()) throw unavailable(lostFile, undefined, { code: 'database_lost' });
    if (!(await schemaIsCurrent(ctx.db)))
      throw unavailable('The database has another schema than this program.');
    return reply.send('{"status":"ready"}');
  });
}
