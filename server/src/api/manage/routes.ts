// All routes of an account's console: those shared with operators, and those for people only.
import type { FastifyInstance } from 'fastify';
import type { AuthlistRules } from '../../authlist/authlist.ts';
import type { Context } from '../../context.ts';
import { savedViewRoutes } from '../saved_views.ts';
import { auditRoutes } from './audit.ts';
import { authlistRoutes } from './authlist.ts';
import { addConsoleChecks, consoleWrite } from './checks.ts';
import { connectionRoutes } from './connections.ts';
import { contractRoutes } from './contract.ts';
import { entryRoutes } from './entries.ts';
import { erasureRoutes } from './erasure.ts';
import { eventRoutes } from './events.ts';
import { explainRoutes } from './explain.ts';
import { manyRoutes } from './many.ts';
import { manyUserRoutes } from './many_users.ts';
import { type Mount, mountFor } from './mount.ts';
import { networkRoutes } from './network.ts';
import { noticeRoutes } from './notices.ts';
import { overrideRoutes } from './overrides.ts';
import { ownSignInRoutes } from './own_sign_in.ts';
import { proxyTokenRoutes } from './proxy_tokens.ts';
import { refusalRoutes } from './refusals.ts';
import { removalRoutes } from './removals.ts';
import { operators, people } from './scope.ts';
import { contractServerRoutes } from './servers.ts';
import { sessionRoutes } from './session.ts';
import { userSignInRoutes } from './sign_in.ts';
import { tokenRoutes } from './tokens.ts';
import { usageRoutes } from './usage.ts';
import { userRoutes } from './users.ts';
import { vpnProfileRoutes } from './vpn_profiles.ts';

/** The same routes for both audiences. */
function manageRoutes(mount: Mount): void {
  contractRoutes(mount);
  usageRoutes(mount);
  connectionRoutes(mount);
  refusalRoutes(mount);
  noticeRoutes(mount);
  auditRoutes(mount);
  removalRoutes(mount);
  tokenRoutes(mount);
  contractServerRoutes(mount);
  networkRoutes(mount);
  explainRoutes(mount);
  userRoutes(mount);
  manyUserRoutes(mount);
  userSignInRoutes(mount);
  erasureRoutes(mount);
  vpnProfileRoutes(mount);
  authlistRoutes(mount);
  overrideRoutes(mount);
  entryRoutes(mount);
  manyRoutes(mount);
}

/** /console: for the people of an account. */
export function consoleRoutes(app: FastifyInstance, ctx: Context, rules: AuthlistRules): void {
  addConsoleChecks(app, ctx);
  const mount = mountFor(app, ctx, people(ctx, rules));
  manageRoutes(mount);
  proxyTokenRoutes(mount);
  sessionRoutes(app, mount);
  ownSignInRoutes(mount);
  savedViewRoutes(app, ctx, {
    prefix: '/console',
    tag: 'Console: saved views',
    config: { console: { may: [] } },
    errors: [403, 429],
    viewerOf: ({ person }) => ({ account_id: person.account_id, viewer_id: person.user_id }),
    write: (request, action) => consoleWrite(ctx, request, action),
  });
  eventRoutes(app, ctx);
}

/** /admin/accounts/{account}: for operators. */
export function accountRoutesOfOperators(app: FastifyInstance, ctx: Context): void {
  manageRoutes(mountFor(app, ctx, operators(ctx)));
}
