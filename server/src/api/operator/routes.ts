// All routes of /admin that are not about one account's records: those are in api/manage.
import type { FastifyInstance } from 'fastify';
import type { Context } from '../../context.ts';
import { operatorViewer } from '../../saved_views/saved_views.ts';
import { savedViewRoutes } from '../saved_views.ts';
import { accountRoutes } from './accounts.ts';
import { addressRoutes } from './addresses.ts';
import { auditLogRoutes } from './audit.ts';
import { addAdminChecks, operatorWrite } from './checks.ts';
import { connectionRoutes } from './connections.ts';
import { doctorRoutes } from './doctor.ts';
import { exitUseRoutes } from './exit_uses.ts';
import { explainRoutes } from './explain.ts';
import { geoRoutes } from './geo.ts';
import { heldUsageRoutes } from './held_usage.ts';
import { historyRoutes } from './history.ts';
import { inventoryRoutes } from './inventory.ts';
import { manifestRoutes } from './manifests.ts';
import { networkRoutes } from './network.ts';
import { nodeRoutes } from './nodes.ts';
import { noticeRoutes } from './notices.ts';
import { operatorTokenRoutes } from './operators.ts';
import { portSchemeRoutes } from './port_schemes.ts';
import { refusalRoutes } from './refusals.ts';
import { serverRoutes } from './servers.ts';
import { networkUsageRoutes } from './usage.ts';

export function operatorRoutes(app: FastifyInstance, ctx: Context): void {
  addAdminChecks(app, ctx);
  networkRoutes(app, ctx);
  historyRoutes(app, ctx);
  auditLogRoutes(app, ctx);
  operatorTokenRoutes(app, ctx);
  savedViewRoutes(app, ctx, {
    prefix: '/admin',
    tag: 'Operator: saved views',
    config: {},
    errors: [],
    viewerOf: ({ operator }) => operatorViewer(operator.id),
    write: (request, action) => operatorWrite(ctx, request, action),
  });
  accountRoutes(app, ctx);
  networkUsageRoutes(app, ctx);
  portSchemeRoutes(app, ctx);
  serverRoutes(app, ctx);
  inventoryRoutes(app, ctx);
  manifestRoutes(app, ctx);
  geoRoutes(app, ctx);
  nodeRoutes(app, ctx);
  heldUsageRoutes(app, ctx);
  explainRoutes(app, ctx);
  connectionRoutes(app, ctx);
  exitUseRoutes(app, ctx);
  refusalRoutes(app, ctx);
  noticeRoutes(app, ctx);
  addressRoutes(app, ctx);
  doctorRoutes(app, ctx);
}
