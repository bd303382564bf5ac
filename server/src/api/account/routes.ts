// /v0: the account API, both variants.
import type { FastifyInstance } from 'fastify';
import type { AuthlistRules } from '../../authlist/authlist.ts';
import { authlistRoutes } from './authlist.ts';
import { addV0Checks } from './checks.ts';
import type { AccountContext } from './context.ts';
import { contractRoutes } from './contract.ts';
import { geofeedRoutes } from './geofeed.ts';
import { overrideRoutes } from './overrides.ts';
import { serverRoutes } from './servers.ts';
import { userRoutes } from './users.ts';

export function accountRoutes(
  app: FastifyInstance,
  ctx: AccountContext,
  rules: AuthlistRules,
): void {
  addV0Checks(app, ctx);
  if (ctx.config.geofeed === 'public') geofeedRoutes(app, ctx);
  contractRoutes(app, ctx);
  serverRoutes(app, ctx);
  userRoutes(app, ctx);
  authlistRoutes(app, ctx, rules);
  overrideRoutes(app, ctx);
}
