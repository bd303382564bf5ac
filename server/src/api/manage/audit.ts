// …/audit: who changed what in an account.
import { Type } from 'typebox';
import { AccountAuditQuery, AuditEntry, auditDescription, auditPage } from '../operator/audit.ts';
import type { Mount } from './mount.ts';

export function auditRoutes({ ctx, audience, routesOf }: Mount): void {
  const route = routesOf('account');
  route('GET /audit', {
    may: ['admin'],
    summary: 'The audit log of the account, newest first',
    description: auditDescription,
    query: AccountAuditQuery,
    answer: Type.Array(AuditEntry),
    handle: ({ scope: { account_id, account_name }, query }, reply) =>
      auditPage(
        ctx,
        reply,
        { ...query, account: account_name },
        account_id,
        audience.sees_all_addresses,
      ),
  });
}
