// /admin/nodes and /admin/invites: which machines serve, how far behind they are, who may join.
import type { FastifyInstance } from 'fastify';
import { type Static, Type } from 'typebox';
import type { Context } from '../../context.ts';
import { notFound } from '../../errors.ts';
import { errors, Integer, idOf, Name, NoContent, Strict, Timestamp } from '../../http/fields.ts';
import { sendCreated, sendJson, sendNothing } from '../../http/responses.ts';
import {
  createInvite,
  listInvites,
  listNodes,
  nodeLag,
  removeInvite,
  revokeNode,
} from '../../nodes/nodes.ts';
import { requireServerOfBody } from '../../servers/servers.ts';
import { overrideNodesAdminRoutes } from '../manage/override_operator.ts';
import { operatorWrite } from './checks.ts';
import { explainAdminRoutes } from './explain.ts';

/** Counting stops here: a node that is farther behind takes a while in any case. */
const mostLagCounted = 10_000;

const NodeRecord = Strict({
  id: Integer('Names it in paths.', 1),
  server: Type.String({ description: 'The server that it serves.' }),
  name: Type.String({ description: 'What the machine calls itself.' }),
  version: Type.String({ description: 'Version of its agent.' }),
  live: Type.Boolean({ description: 'Whether it acknowledged lately.' }),
  joined_at: Timestamp('When it joined.'),
  seen_at: Timestamp('When it last acknowledged.'),
  applied_revision: Integer('Every change up to it is applied.'),
  lag: Integer(
    `Changes that concern its server and are not applied; ${mostLagCounted} stands for that many or more.`,
  ),
});

const invite_days = 30;
const NewInvite = Strict({
  server: Name('The server that the node will serve.'),
  lifetime_seconds: Type.Optional(
    Integer('How long the code can be used; a day when omitted.', 60, invite_days * 86_400),
  ),
});
const Invite = Strict({
  code: Type.String({ description: 'The one-time code (ewi_…), shown only here.' }),
  expiry: Timestamp('Until when it can be used.'),
});
const OpenInvite = Strict({
  id: Type.String({ description: 'Names the invitation; it is not the code.' }),
  server: Type.String({ description: 'Short name of its server.' }),
  expiry: Timestamp('Until when its code can be used.'),
});

export function nodeAdminRoutes(app: FastifyInstance, ctx: Context): void {
  const tags = ['Operator: nodes'];
  explainAdminRoutes(app, ctx);
  overrideNodesAdminRoutes(app, ctx);

  app.get(
    '/admin/nodes',
    {
      schema: {
        summary: 'List nodes with how far behind they are',
        tags,
        response: { 200: Type.Array(NodeRecord), ...errors(400, 401) },
      },
    },
    async (_request, reply) => {
      const nodes = (await listNodes(ctx.db)).filter((node) => node.revoked_at === null);
      const records = nodes.map(async ({ server_id, hash: _, revoked_at: __, live, ...node }) => ({
        ...node,
        live: live === 1,
        lag: await nodeLag(ctx.db, server_id, node.applied_revision, mostLagCounted),
      }));
      return sendJson(reply, await Promise.all(records));
    },
  );

  app.delete<{ Params: { id: string } }>(
    '/admin/nodes/:id',
    {
      schema: {
        summary: 'Revoke a node: its token stops working and its stream closes',
        tags,
        params: Type.Object({ id: Type.String({ description: 'Id of the node.' }) }),
        response: { 204: NoContent, ...errors(400, 401, 404) },
      },
    },
    async (request, reply) => {
      const id = idOf(request.params.id);
      if (id === undefined) throw notFound(`There is no node ${request.params.id}.`);
      await operatorWrite(ctx, request, (tx) => revokeNode(tx, id));
      return sendNothing(reply);
    },
  );

  app.post<{ Body: Static<typeof NewInvite> }>(
    '/admin/invites',
    {
      schema: {
        summary: 'Invite a node: a code with which one machine may join, once',
        tags,
        body: NewInvite,
        response: { 201: Invite, ...errors(400, 401, 409) },
      },
    },
    async (request, reply) => {
      const { server, lifetime_seconds } = request.body;
      const invite = await operatorWrite(ctx, request, async (tx) =>
        createInvite(tx, ctx.secrets, await requireServerOfBody(tx, server), lifetime_seconds),
      );
      return sendCreated(reply, '/admin/nodes', invite);
    },
  );

  app.get(
    '/admin/invites',
    {
      schema: {
        summary: 'List the invitations that can still be used',
        tags,
        response: { 200: Type.Array(OpenInvite), ...errors(400, 401) },
      },
    },
    async (_request, reply) => sendJson(reply, await listInvites(ctx.db, ctx.clock.now())),
  );

  app.delete<{ Params: { invite: string } }>(
    '/admin/invites/:invite',
    {
      schema: {
        summary: 'Take an invitation back',
        tags,
        params: Type.Object({ invite: Type.String({ description: 'Id of the invitation.' }) }),
        response: { 204: NoContent, ...errors(400, 401, 404) },
      },
    },
    async (request, reply) => {
      await operatorWrite(ctx, request, (tx) => removeInvite(tx, request.params.invite));
      return sendNothing(reply);
    },
  );
}
