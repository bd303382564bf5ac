// …/notices: things of the last hours that need a look, in one account.
import { Notices, presentNotices } from '../notices.ts';
import type { Mount } from './mount.ts';

export function noticeRoutes({ ctx, routesOf }: Mount): void {
  routesOf('account')('GET /notices', {
    id: 'list_notices',
    may: ['admin'],
    summary:
      'What needs a look: users near their limit, refusals that rise, and addresses that try many users',
    answer: Notices,
    handle: ({ scope }) => presentNotices(ctx, scope.account_id),
  });
}
