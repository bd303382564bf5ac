// /admin/audit: who changed what, in all accounts and in the network.
import type { FastifyInstance, FastifyReply } from 'fastify';
import { type Static, Type } from 'typebox';
import type { Context } from '../../context.ts';
import type { Reader } from '../../db/database.ts';
import { Integer, Strict, Timestamp } from '../../http/fields.ts';
import { limitIn, PageQuery, pageOf, wholeIn } from '../../http/paging.ts';
import { listAuditLog, type NamedAuditRecord } from '../../operators/operators.ts';
import { operatorRoute } from './route.ts';

export const AuditEntry = Strict({
  id: Integer('Number of the entry.', 1),
  at: Timestamp('When.'),
  actor_kind: Type.String({
    description: 'account (an API token), user (in the console), operator, node or system.',
  }),
  actor: Type.String({
    description: 'Who: account and API token, account and user, operator token, node or job.',
  }),
  address: Type.String({
    description: 'From where; empty for a job, and where the account is not to know.',
  }),
  request_id: Type.String({ description: 'The x-request-id of the answer.' }),
  account: Type.Union([Type.String(), Type.Null()], { description: 'Account, if it is of one.' }),
  action: Type.String({ description: 'What was done, such as override.create.' }),
  target: Type.String({ description: 'To what, such as overrides/12.' }),
  before: Type.Unknown({ description: 'The record before; null if there was none.' }),
  after: Type.Unknown({ description: 'The record after; null if there is none.' }),
});
export const AuditQuery = Strict({
  account: Type.Optional(Type.String({ description: 'Only what concerns this account.' })),
  before: Type.Optional(Type.String({ description: 'Only entries with a lower id.' })),
  limit: PageQuery.limit,
});

function presentAudit({ account_id: _, before, after, ...entry }: NamedAuditRecord) {
  const read = (text: string | null) => (text === null ? null : (JSON.parse(text) as unknown));
  return { ...entry, before: read(before), after: read(after) };
}

/** A page of the log, newest first, each record as `shown`. Errors: 400. */
export async function auditPage(
  db: Reader,
  reply: FastifyReply,
  query: Static<typeof AuditQuery>,
  shown: (record: NamedAuditRecord) => NamedAuditRecord = (record) => record,
) {
  const limit = limitIn(query.limit);
  const before = wholeIn('before', query.before, Number.MAX_SAFE_INTEGER, 1);
  const found = await listAuditLog(db, query.account ?? null, before, limit + 1);
  const page = pageOf(reply, found, limit, (last) => ({ before: last.id }));
  return page.map((record) => presentAudit(shown(record)));
}

export function auditLogRoutes(app: FastifyInstance, ctx: Context): void {
  operatorRoute(app, 'Operator: network')('GET /admin/audit', {
    summary: 'The audit log, newest first',
    query: AuditQuery,
    answer: Type.Array(AuditEntry),
    handle: ({ query }, reply) => auditPage(ctx.db, reply, query),
  });
}
