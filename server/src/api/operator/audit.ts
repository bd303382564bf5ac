// /admin/audit: the log of changes and their actors, in all accounts and in the network.
import type { FastifyInstance, FastifyReply } from 'fastify';
import { type Static, Type } from 'typebox';
import { auditActions } from '../../../../kit/src/audit_sentences.ts';
import { quoted } from '../../../../kit/src/quoted.ts';
import type { Context } from '../../context.ts';
import { invalidField } from '../../errors.ts';
import { Named, Strict, Text, Timestamp, words } from '../../http/fields.ts';
import { limitIn, linkNext, PageQuery, timeIn } from '../../http/paging.ts';
import { type AuditFilter, searchAuditLog, wordsOf } from '../../operators/audit_log.ts';
import type { NamedAuditRecord } from '../../operators/operators.ts';
import { turnOf } from '../long_reads.ts';
import { operatorRoute } from './route.ts';

export const AuditEntry = Named('AuditEntry', {
  id: Type.String({ description: 'Identifies the entry; it says nothing about the order.' }),
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
const time = (description: string) => Type.Optional(Type.String({ description }));
/** The query of the log of one account. */
export const AccountAuditQuery = Strict({
  search: Type.Optional(
    Text(
      'Only entries with each of these words somewhere in the action, target, actor, account, address, request id or the record before and after; A to Z in either case.',
    ),
  ),
  actor: Type.Optional(Text('Only by this actor; the account before the name may be left out.')),
  action: Type.Optional(
    Text(
      'Only these actions or kinds of records, comma-separated: override.create,authlist.',
      1000,
    ),
  ),
  since: time('Only entries of this time or later, epoch seconds.'),
  until: time('Only entries before this time, epoch seconds.'),
  before: Type.Optional(Text('Only entries that are older than the one with this id.', 22)),
  limit: PageQuery.limit,
});
const AuditQuery = Strict({
  account: Type.Optional(Type.String({ description: 'Only what concerns this account.' })),
  ...AccountAuditQuery.properties,
});
/** The description of both routes. */
export const auditDescription =
  'One request looks at a part of the log only: while it searches, a page may have fewer entries than asked for, or none, and a Link to the next all the same. The end of the log is where there is no Link.';

function presentAudit({ account_id: _, before, after, ...entry }: NamedAuditRecord, id: string) {
  const read = (text: string | null) => (text === null ? null : (JSON.parse(text) as unknown));
  return { ...entry, id, before: read(before), after: read(after) };
}

const maxWords = 10;
const maxActions = 50;

const kindOf = (action: string) => action.replace(/\..*/, '');
const kinds = [...new Set(auditActions.map(kindOf))].sort();

/** The actions and kinds of a query. Errors: 400, with those that there are. */
function actionsIn(text: string | undefined): string[] | undefined {
  const actions = words('action', text);
  if (actions && actions.length > maxActions) {
    throw invalidField('action', `expected ${maxActions} names at most.`);
  }
  const unknown = actions?.find((name) => !kinds.includes(name) && !auditActions.includes(name));
  if (unknown === undefined) return actions;
  const ofKind = auditActions.filter((action) => kindOf(action) === kindOf(unknown));
  const expected =
    ofKind.length > 0
      ? `${kindOf(unknown)}, ${ofKind.join(', ')}`
      : `an action such as authlist.create, or one of ${kinds.join(', ')}`;
  throw invalidField('action', `there is no ${quoted(unknown)}; expected ${expected}.`);
}

/** The filter of a query. Errors: 400. */
function filterIn(
  { account, actor, ...query }: Static<typeof AuditQuery>,
  sees_all_addresses: boolean,
): AuditFilter {
  const searched = query.search === undefined ? undefined : wordsOf(query.search);
  if (searched && searched.length > maxWords) {
    throw invalidField('search', `expected ${maxWords} words at most.`);
  }
  const actions = actionsIn(query.action);
  const [since, until] = (['since', 'until'] as const).map((field) =>
    timeIn(field, query[field], null),
  );
  return {
    account,
    actor,
    actions,
    words: searched,
    since: since ?? undefined,
    until: until ?? undefined,
    sees_all_addresses,
  };
}

/**
 * A page of the log, newest first, as an operator sees it or, without `sees_all_addresses`, an
 * account. `account_id`: the account whose turn and ids it uses; 0 for the network. Errors: 400.
 */
export async function auditPage(
  ctx: Context,
  reply: FastifyReply,
  query: Static<typeof AuditQuery>,
  account_id: number,
  sees_all_addresses: boolean,
) {
  const limit = limitIn(query.limit);
  // One count of the network: its numbers would say how much other accounts do.
  const idOf = (number: number) => ctx.secrets.veil('audit', account_id, number);
  const before = query.before === undefined ? undefined : entryIn(ctx, account_id, query.before);
  const filter = filterIn(query, sees_all_addresses);
  const page = await searchAuditLog(ctx.db, filter, before, limit, () => turnOf(account_id));
  if (page.before !== undefined) linkNext(reply, { before: idOf(page.before) });
  const shown = sees_all_addresses ? page.records : page.records.map(withoutAddress);
  return shown.map((record) => presentAudit(record, idOf(record.id)));
}

/** The number of the entry with this id. Errors: 400. */
function entryIn({ secrets }: Context, account_id: number, id: string): number {
  const number = secrets.unveil('audit', account_id, id);
  if (number !== undefined) return number;
  throw invalidField('before', 'expected the id of an entry, as in a response or its Link.');
}

/** Accounts don't see the addresses of operators and nodes. */
function withoutAddress(record: NamedAuditRecord): NamedAuditRecord {
  const isOwn = record.actor_kind === 'account' || record.actor_kind === 'user';
  return isOwn ? record : { ...record, address: '' };
}

export function auditLogRoutes(app: FastifyInstance, ctx: Context): void {
  operatorRoute(app, 'Operator: network')('GET /admin/audit', {
    summary: 'The audit log, newest first',
    description: auditDescription,
    query: AuditQuery,
    answer: Type.Array(AuditEntry),
    handle: ({ query }, reply) => auditPage(ctx, reply, query, 0, true),
  });
}
