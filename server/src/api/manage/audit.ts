// …/audit: who changed what in an account.
import { Type } from 'typebox';
import { Strict } from '../../http/fields.ts';
import type { NamedAuditRecord } from '../../operators/operators.ts';
import { AuditEntry, AuditQuery, auditPage } from '../operator/audit.ts';
import type { Mount } from './mount.ts';

const { before, limit } = AuditQuery.properties;

/** From where the operator and the nodes call is not the account's to know. */
function withoutAddress(record: NamedAuditRecord): NamedAuditRecord {
  const isOwn = record.actor_kind === 'account' || record.actor_kind === 'user';
  return isOwn ? record : { ...record, address: '' };
}

export function auditRoutes({ ctx, audience, routesOf }: Mount): void {
  const route = routesOf('account');
  route('GET /audit', {
    may: ['admin'],
    summary: 'The audit log of the account, newest first',
    query: Strict({ before, limit }),
    answer: Type.Array(AuditEntry),
    handle: ({ scope, query }, reply) =>
      auditPage(
        ctx.db,
        reply,
        { ...query, account: scope.account_name },
        audience.sees_all_addresses ? undefined : withoutAddress,
      ),
  });
}
