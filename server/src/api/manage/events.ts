// /console/events: notifies the pages of an account that something has changed.
import type { FastifyInstance } from 'fastify';
import type { Context } from '../../context.ts';
import {
  Events,
  maxPerAccount,
  maxPerOwner,
  sendEvents,
  streamsOf,
} from '../../http/event_streams.ts';
import { addRoute } from '../../http/route.ts';
import { sessionStillHolds } from '../../sign_in/sign_in.ts';
import { newsOfAccount } from '../news.ts';

export function eventRoutes(app: FastifyInstance, ctx: Context): void {
  const streams = streamsOf(app, ctx);

  const usual = { tag: 'Console: live', config: { console: { may: [] } } };
  addRoute(app, 'GET /console/events', usual, {
    id: 'events',
    summary: 'Hear when something has changed, as server-sent events',
    description:
      'The versions say which part of the account has something new, not what: read again what shows it, where `exitward-as-of` of its response has another one. They are opaque, and without an order. It ends with the session.',
    answer: Events(
      '`{"authlist": VERSION, …}`: of `authlist`, `overrides`, `users`, `contract` (with servers and API tokens), `usage`, and `network` (servers, exit IPs and health)',
    ),
    statuses: { 503: 'Too many streams are open, of this session or of all.' },
    handle: async (request, reply) => {
      const { account_id, user_id, session_id } = request.person;
      return sendEvents(streams, request, reply, {
        topic: `account ${account_id}`,
        read: () => newsOfAccount(ctx, account_id),
        pause_ms: 100,
        owners: [
          { name: `user ${account_id} ${user_id}`, max: maxPerOwner },
          { name: `account ${account_id}`, max: maxPerAccount },
        ],
        holds: () => sessionStillHolds(ctx.db, { account_id, session_id }, ctx.clock.now()),
      });
    },
  });
}
