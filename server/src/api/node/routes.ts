// /node: the paths of agents, from joining to snapshot, changes, acknowledgements and reports.
import type { FastifyInstance } from 'fastify';
import type { Context } from '../../context.ts';
import { acknowledgementRoutes } from './acknowledgements.ts';
import { addNodeChecks } from './checks.ts';
import { installRoutes } from './install.ts';
import { joinRoutes } from './join.ts';
import { Pace } from './pace.ts';
import { reportRoutes } from './reports.ts';
import { snapshotRoutes } from './snapshot.ts';
import { streamRoutes } from './stream.ts';

export function nodeRoutes(app: FastifyInstance, ctx: Context): void {
  const pace = new Pace(ctx.clock);
  addNodeChecks(app, ctx, pace);
  installRoutes(app, ctx);
  joinRoutes(app, ctx);
  snapshotRoutes(app, ctx);
  streamRoutes(app, ctx, pace);
  acknowledgementRoutes(app, ctx, pace);
  reportRoutes(app, ctx);
}
