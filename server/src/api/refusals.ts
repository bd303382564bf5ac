// Refused connections as people see them: the filters, the records, and the names in them.
import type { FastifyReply } from 'fastify';
import { type Static, Type } from 'typebox';
import type { Context } from '../context.ts';
import { invalidField } from '../errors.ts';
import { Integer, Named, OneOf, orNull, Text, Timestamp } from '../http/fields.ts';
import { limitIn, linkNext, PageQuery, timeIn } from '../http/paging.ts';
import { listRefusals, type RefusalFilter, rejectionKinds } from '../nodes/nodes.ts';
import { parseAddress } from '../values/address.ts';
import { readNames } from './names.ts';
import { type RefusalViewer, readStates } from './refusal_states.ts';

export const Refusal = Named('Refusal', {
  id: Type.String({ description: 'Identifies the row; it says nothing about the order.' }),
  at: Timestamp('The minute.'),
  reason: Type.String({
    description:
      'Why, by the word that clients get: `unknown_address`, `expired_token`, …; `other` for words of newer nodes.',
  }),
  address: Type.String({ description: 'The IP address that they came from.' }),
  server: Type.String({ description: 'Server short name.' }),
  node: Type.Optional(Type.String({ description: 'The node; for operators.' })),
  service: Type.String({ description: 'proxy, proxy-https, or a VPN service.' }),
  port: Type.Union([Type.Integer(), Type.Null()], {
    description: 'The port of the server; null for a VPN.',
  }),
  account: Type.Union([Type.String(), Type.Null()], {
    description:
      'Account that the credentials name, else the one that listed the address; null: none.',
  }),
  user: Type.Union([Type.String(), Type.Null()], {
    description: 'User that the credentials name; null: none.',
  }),
  count: Integer('How many in that minute.'),
  listed_for: orNull(
    Type.String(),
    'The user for whom the account has the address on its authlist by now; null: none that you see.',
  ),
  limit: orNull(
    Type.Integer(),
    'The limit that the reason is about, as it is now: connections, addresses, bytes, or the end as epoch seconds. Null: the user or contract has none, or the reason is another one.',
  ),
  is_fixed: orNull(
    Type.Boolean(),
    'Whether the reason no longer holds: the address is listed, the user active again, the limit raised. Null: only the next connection shows it.',
  ),
});

const time = (description: string) => Type.Optional(Type.String({ description }));
/** The filters of every audience. */
export const refusalFilters = {
  user: Type.Optional(Text('Only those that name this user.')),
  address: Type.Optional(Text('Only those from this IP address.', 64)),
  server: Type.Optional(Text('Only those of this server, by its short name.')),
  reason: Type.Optional(OneOf([...rejectionKinds], 'Only those with this reason.')),
  since: time('Only those of this time or later, epoch seconds.'),
  until: time('Only those before this time, epoch seconds.'),
  before: Type.Optional(Text('Only those that are older than the one with this id.', 22)),
  limit: PageQuery.limit,
};

export const aboutRefusals =
  'Nodes report them within seconds, by the minute. They are kept for days (a setting of the operator), and the newest ones of each node and account alone; destinations are not stored. A page may have fewer rows than asked for, or none, and a Link to the next all the same.';

interface Query {
  address?: string;
  reason?: string;
  since?: string;
  until?: string;
  before?: string;
  limit?: string;
}

/**
 * A page of those that match, newest first. The viewer's account is the one whose ids it uses.
 * Errors: 400.
 */
export async function refusalPage(
  { db, secrets, clock }: Context,
  reply: FastifyReply,
  query: Query,
  filter: RefusalFilter,
  viewer: RefusalViewer,
): Promise<Static<typeof Refusal>[]> {
  const { address, reason, since, until } = query;
  const { account_id, is_operator } = viewer;
  const idOf = (number: number) => secrets.veil('refusal', account_id, number);
  const before =
    query.before === undefined ? undefined : secrets.unveil('refusal', account_id, query.before);
  if (query.before !== undefined && before === undefined) {
    throw invalidField('before', 'expected the id of a row, as in a response or its Link.');
  }
  const [from, to] = [timeIn('since', since, null), timeIn('until', until, null)];
  const page = await listRefusals(
    db,
    {
      ...(address !== undefined && {
        source: parseAddress('address', address, { addresses: 'any' }),
      }),
      ...filter,
      ...{ reason, since: from ?? undefined, until: to ?? undefined },
    },
    before,
    limitIn(query.limit),
  );
  if (page.before !== undefined) linkNext(reply, { before: idOf(page.before) });
  const { refusals } = page;
  const [namesOf, stateOf] = await Promise.all([
    readNames(
      db,
      refusals.map((refusal) => [refusal.account_id, refusal.user_id]),
    ),
    readStates(db, refusals, viewer, clock.now()),
  ]);
  return refusals.map((refusal) => {
    const { id, at, reason, source, server, node, service, port, count, ...of } = refusal;
    const isSeen = is_operator || of.account_id === account_id;
    return {
      ...{ id: idOf(id), at, reason, address: source, server },
      ...(is_operator ? { node } : {}),
      ...{ service, port: port === 0 ? null : port },
      ...{ account: null, user: null },
      ...(isSeen ? namesOf(of.account_id, of.user_id) : {}),
      ...{ count, ...stateOf(refusal) },
    };
  });
}
