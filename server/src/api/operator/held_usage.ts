// /admin/held_usage: usage batches larger than their node can carry, for an operator to judge.
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import type { Context } from '../../context.ts';
import { notFound } from '../../errors.ts';
import { IdPath, Integer, idOf, Named, Strict, Timestamp } from '../../http/fields.ts';
import { acceptHeldUsage, discardHeldUsage, listHeld } from '../../nodes/nodes.ts';
import { operatorWrite } from './checks.ts';
import { operatorRoute } from './route.ts';

const HeldBatch = Named('HeldUsage', {
  id: Integer('Names it in paths.', 1),
  node_id: Integer('The node that reported it.', 1),
  node: Type.String({ description: 'What its machine calls itself.' }),
  server: Type.String({ description: 'The server that it serves.' }),
  revoked: Type.Boolean({ description: 'Whether the node was revoked since.' }),
  boot: Type.String({ description: "The run of the node's journal." }),
  seq: Integer('The number of the batch in it.'),
  received_at: Timestamp('When it came.'),
  bytes: Integer('Bytes both ways, of all its rows.'),
  plausible_bytes: Integer('The most that the node could have to report then.'),
  oldest_at: Timestamp('The time of its oldest row.'),
  newest_at: Timestamp('The time of its newest row.'),
  row_count: Integer('How many rows it has.'),
  account_count: Integer('How many accounts they are of.'),
  accounts: Type.Array(
    Strict({
      account: Type.String({ description: 'Name of the account.' }),
      bytes: Integer('Bytes both ways.'),
    }),
    { description: 'The accounts with the most bytes, ten at most.' },
  ),
});
const Accepted = Named('AcceptedUsage', {
  counted_bytes: Integer('Bytes that were counted, both ways.'),
});

/** Errors: 404 for a text that is not an id. */
function batchId(text: string): number {
  const id = idOf(text);
  if (id === undefined) throw notFound(`There is no held batch ${text}.`);
  return id;
}

export function heldUsageRoutes(app: FastifyInstance, ctx: Context): void {
  const route = operatorRoute(app, 'Operator: nodes');

  route('GET /admin/held_usage', {
    summary: 'List usage that is held: more than its node can have carried',
    answer: Type.Array(HeldBatch),
    handle: async () =>
      (await listHeld(ctx.db)).map(({ revoked_at, accounts, ...batch }) => ({
        ...batch,
        revoked: revoked_at !== null,
        accounts: JSON.parse(accounts) as unknown,
      })),
  });

  route('POST /admin/held_usage/:id/accept', {
    id: 'accept_held_usage',
    summary: 'Count a held batch after all, in the hours that it names; limits act at once',
    params: IdPath,
    answer: Accepted,
    handle: async (request) => {
      const id = batchId(request.params.id);
      return {
        counted_bytes: await operatorWrite(ctx, request, (tx) => acceptHeldUsage(tx, id)),
      };
    },
  });

  route('DELETE /admin/held_usage/:id', {
    summary: 'Throw a held batch away: it is never billed',
    params: IdPath,
    handle: async (request) => {
      const id = batchId(request.params.id);
      await operatorWrite(ctx, request, (tx) => discardHeldUsage(tx, id));
    },
  });
}
