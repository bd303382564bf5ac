// /admin/notices: things of the last hours that need a look, in the whole network.
import type { FastifyInstance } from 'fastify';
import type { Context } from '../../context.ts';
import { Notices, presentNotices } from '../notices.ts';
import { operatorRoute } from './route.ts';

export function noticeRoutes(app: FastifyInstance, ctx: Context): void {
  operatorRoute(app, 'Operator: nodes')('GET /admin/notices', {
    id: 'network_notices',
    summary:
      'What needs a look: users near their limit, refusals that rise, and addresses that try many users',
    description:
      'At most 20 of each (and 20 users whose limit is used up), the newest and largest first.',
    answer: Notices,
    handle: () => presentNotices(ctx),
  });
}
