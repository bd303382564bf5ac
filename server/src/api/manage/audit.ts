// /console/audit: who changed what in an account, for its admins.
import type { FastifyInstance } from 'fastify';
import { type Static, Type } from 'typebox';
import type { Context } from '../../context.ts';
import { errors, Strict } from '../../http/fields.ts';
import { limitIn, pageOf, wholeIn } from '../../http/paging.ts';
import { sendJson } from '../../http/responses.ts';
import { listAuditLog, type NamedAuditRecord } from '../../operators/operators.ts';
import { AuditEntry, AuditQuery, presentAudit } from '../operator/operators.ts';

const { before, limit } = AuditQuery.properties;
const OwnAuditQuery = Strict({ before, limit });

/** From where the operator and the nodes call is not the account's to know. */
function presentOwn(record: NamedAuditRecord) {
  const isOwn = record.actor_kind === 'account' || record.actor_kind === 'user';
  return presentAudit(isOwn ? record : { ...record, address: '' });
}

export function auditConsoleRoutes(app: FastifyInstance, ctx: Context): void {
  app.get<{ Querystring: Static<typeof OwnAuditQuery> }>(
    '/console/audit',
    {
      config: { console: { may: ['admin'] } },
      schema: {
        summary: 'The audit log of the account, newest first',
        tags: ['Console: account'],
        querystring: OwnAuditQuery,
        response: { 200: Type.Array(AuditEntry), ...errors(400, 401, 403) },
      },
    },
    async (request, reply) => {
      const most = limitIn(request.query.limit);
      const before_id = wholeIn('before', request.query.before, Number.MAX_SAFE_INTEGER, 1);
      const { account_name } = request.person;
      const found = await listAuditLog(ctx.db, account_name, before_id, most + 1);
      const page = pageOf(reply, found, most, (last) => ({ before: last.id }));
      return sendJson(reply, page.map(presentOwn));
    },
  );
}
