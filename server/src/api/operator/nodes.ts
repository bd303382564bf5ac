// /admin/nodes and /admin/invites: machines that serve, how far they lag, invites for new ones.
import type { FastifyInstance } from 'fastify';
import { type Static, Type } from 'typebox';
import { networkVersion } from '../../changes/changes.ts';
import type { Context } from '../../context.ts';
import type { Reader } from '../../db/database.ts';
import { notFound } from '../../errors.ts';
import { Digits, Integer, idOf, Name, Named, OneOf, Strict, Timestamp } from '../../http/fields.ts';
import { created } from '../../http/route.ts';
import {
  changeNode,
  connectionLogModes,
  createInvite,
  drainNodes,
  faultsByNode,
  listInvites,
  listNodes,
  type Node,
  nodeFilters,
  nodeLag,
  nodePageSlices,
  nodeSorts,
  ratesOf,
  removeInvite,
  revokeNode,
} from '../../nodes/nodes.ts';
import { requireServerOfBody } from '../../servers/servers.ts';
import { compareVersions, version } from '../../values/version.ts';
import { oneIsMissing } from '../at_once.ts';
import { filterIn, listQuery, pageIn, readPage } from '../list_pages.ts';
import { LongReads } from '../long_reads.ts';
import { operatorWrite } from './checks.ts';
import { operatorRoute } from './route.ts';

/** Counting stops here: a node with a larger lag takes a while in any case. */
const maxLagCounted = 10_000;

const FaultRecord = Named('NodeFault', {
  kind: Type.String({ description: 'A word for programs, see the list in docs/faults.md.' }),
  subject: Type.Union([Type.String(), Type.Null()], {
    description: 'Which of several: an address, a port, a file.',
  }),
  message: Type.String({ description: 'A sentence for people.' }),
  since: Timestamp('Since when, by the clock of the node.'),
});
const NodeRecord = Named('Node', {
  id: Integer('Names it in paths.', 1),
  server: Type.String({ description: 'The server that it serves.' }),
  name: Type.String({ description: 'What the machine calls itself.' }),
  version: Type.String({ description: 'Version of its agent, as it said last.' }),
  is_behind: Type.Boolean({
    description: 'Whether that is older than the version of this server.',
  }),
  live: Type.Boolean({ description: 'Whether it acknowledged lately.' }),
  joined_at: Timestamp('When it joined.'),
  seen_at: Timestamp('When it last acknowledged.'),
  applied_revision: Integer('Every change up to it is applied.'),
  lag: Integer(
    `Changes that concern its server and are not applied; ${maxLagCounted} stands for that many or more.`,
  ),
  max_bytes_per_second: Type.Union([Integer('Bytes.'), Type.Null()], {
    description: 'The most that its machine carries, both ways; null: as the setting says.',
  }),
  drained_at: Type.Union([Timestamp('Since when.'), Type.Null()], {
    description: 'Since when it takes no new connections; null: it takes them.',
  }),
  connections: Type.Union([Integer('How many.'), Type.Null()], {
    description:
      'Open requests and tunnels of clients, as of its last acknowledgement; null: its agent does not say.',
  }),
  connection_log: Type.Union([OneOf(connectionLogModes, 'How.'), Type.Null()], {
    description:
      'Whether it keeps who used which exit, with destinations or without, as of its last acknowledgement; null: its agent does not say.',
  }),
  bytes_per_second: Integer(
    'What its clients sent and received, on average in the last whole five minutes; 0 when it has reported none.',
  ),
  certificate_expiry: Type.Union([Timestamp('By what it said last.'), Type.Null()], {
    description:
      'When the certificate of its VPN ends; null: it serves none, has none, or does not say.',
  }),
  faults: Type.Array(FaultRecord, { description: 'What it last said is wrong with it.' }),
});

const Query = Strict(
  listQuery(nodeSorts, {
    state: Type.Optional(
      OneOf(
        nodeFilters,
        'lost: offline; else live, and faulty: it reports faults; lagging: a change is not applied; drained; good: none of these.',
      ),
    ),
  }),
);

const maxAtOnce = 1000;
const Draining = Named('DrainedNodes', {
  nodes: Type.Array(Integer('Id of a node.', 1), {
    description: `Which nodes, each once: at most ${maxAtOnce}.`,
    minItems: 1,
    maxItems: maxAtOnce,
    uniqueItems: true,
  }),
  drained: Type.Boolean({
    description: 'Whether they take no new connections. Those that are open go on.',
  }),
});
const Drained = Named('ManyNodes', { nodes: Integer('How many nodes.') });

const maxBytesPerSecond = 1e13;
const NodeChanges = Named('NodeChanges', {
  max_bytes_per_second: Type.Optional(
    Type.Union([Integer('Bytes.', 1, maxBytesPerSecond), Type.Null()], {
      description: 'The most that its machine carries, both ways; null: as the setting says.',
    }),
  ),
  drained: Type.Optional(
    Type.Boolean({
      description: 'Whether it takes no new connections. Those that are open go on.',
    }),
  ),
});

const inviteDays = 30;
const NewInvite = Named('NewInvite', {
  server: Name('The server that the node will serve.'),
  lifetime_seconds: Type.Optional(
    Integer('How long the code can be used; a day when omitted.', 60, inviteDays * 86_400),
  ),
});
const Invite = Named('Invite', {
  code: Type.String({ description: 'The one-time code (ewi_…), shown only here.' }),
  expiry: Timestamp('Until when it can be used.'),
  line: Type.String({
    description:
      'The line to paste on a machine with Debian: it installs the agent, checks, joins and starts.',
  }),
  architectures: Type.Array(Type.String(), {
    description:
      'Those that this server has a package of the agent for; on others it must be there.',
  }),
});
const OpenInvite = Named('OpenInvite', {
  id: Type.String({ description: 'Names the invitation; it is not the code.' }),
  server: Type.String({ description: 'Short name of its server.' }),
  expiry: Timestamp('Until when its code can be used.'),
});

const NodePath = Type.Object({ id: Digits('Id of the node.', 1) });
const InvitePath = Type.Object({ invite: Type.String({ description: 'Id of the invitation.' }) });

export function nodeRoutes(app: FastifyInstance, ctx: Context): void {
  const route = operatorRoute(app, 'Operator: nodes');

  const longReads = new LongReads(ctx.db);

  route('GET /admin/nodes', {
    summary: 'List nodes with how far behind they are',
    description:
      'With a limit: a page of them, sorted and filtered; else all of them, by their servers.',
    query: Query,
    answer: Type.Array(NodeRecord),
    handle: async ({ query }, reply) => {
      const page = pageIn(query);
      if (!page) return presentNodes(ctx, await listNodes(ctx.db));
      const filter = { search: filterIn(query).search, state: query.state };
      const slices = (db: Reader) => nodePageSlices(db, filter, page, lastStep(ctx));
      const rows = await readPage({ longReads }, reply, networkVersion, page, slices);
      return presentNodes(
        ctx,
        rows.map(({ sort_key: _, ...node }) => node),
      );
    },
  });

  route('PATCH /admin/nodes', {
    id: 'drain_nodes',
    summary: 'Drain nodes, or end that, all or none',
    body: Draining,
    answer: Drained,
    statuses: { 404: oneIsMissing('nodes') },
    handle: async (request) => {
      const { nodes, drained } = request.body;
      const { health_stale_seconds } = ctx.config;
      await operatorWrite(ctx, request, (tx) =>
        drainNodes(tx, nodes, drained, health_stale_seconds),
      );
      return { nodes: nodes.length };
    },
  });

  route('GET /admin/nodes/:id', {
    summary: 'Show a node with its faults',
    params: NodePath,
    answer: NodeRecord,
    handle: async (request) => {
      const id = requireId(request.params.id);
      const all = await listNodes(ctx.db);
      const [node] = await presentNodes(
        ctx,
        all.filter((node) => node.id === id),
      );
      if (!node) throw noNode(request.params.id);
      return node;
    },
  });

  route('PATCH /admin/nodes/:id', {
    summary: 'Drain a node, or change how much it may report',
    params: NodePath,
    body: NodeChanges,
    answer: NodeRecord,
    handle: async (request) => {
      const id = requireId(request.params.id);
      const { health_stale_seconds } = ctx.config;
      await operatorWrite(ctx, request, (tx) =>
        changeNode(tx, id, request.body, health_stale_seconds),
      );
      const all = await listNodes(ctx.db);
      return (
        await presentNodes(
          ctx,
          all.filter((node) => node.id === id),
        )
      )[0];
    },
  });

  route('DELETE /admin/nodes/:id', {
    summary: 'Revoke a node: its token stops working and its stream closes',
    params: NodePath,
    handle: async (request) => {
      const id = requireId(request.params.id);
      await operatorWrite(ctx, request, (tx) =>
        revokeNode(tx, id, ctx.config.health_stale_seconds),
      );
    },
  });

  route('POST /admin/invites', {
    summary: 'Invite a node: a code with which one machine may join, once',
    body: NewInvite,
    created: Invite,
    errors: [409],
    handle: async (request) => {
      const { server, lifetime_seconds } = request.body;
      const invite = await operatorWrite(ctx, request, async (tx) =>
        createInvite(tx, ctx.secrets, await requireServerOfBody(tx, server), lifetime_seconds),
      );
      const line = await ctx.install.line(invite.code);
      const packages = await ctx.install.packages();
      const architectures = packages.map(({ architecture }) => architecture);
      return created('/admin/nodes', { ...invite, line, architectures });
    },
  });

  route('GET /admin/invites', {
    summary: 'List the invitations that can still be used',
    answer: Type.Array(OpenInvite),
    handle: () => listInvites(ctx.db, ctx.clock.now()),
  });

  route('DELETE /admin/invites/:invite', {
    summary: 'Take an invitation back',
    params: InvitePath,
    handle: (request) =>
      operatorWrite(ctx, request, (tx) => removeInvite(tx, request.params.invite)),
  });
}

const noNode = (id: string) => notFound(`There is no node ${id}.`);

/** Errors: 404 for a text that is not an id. */
function requireId(text: string): number {
  const id = idOf(text);
  if (id === undefined) throw noNode(text);
  return id;
}

/** The start of the last whole five minutes, epoch seconds. */
function lastStep({ clock }: Context): number {
  const now = clock.now();
  return now - (now % 300) - 300;
}

/** Those of these nodes that are not revoked. */
async function presentNodes(
  ctx: Context,
  nodes: ReadonlyArray<Node & { server: string }>,
): Promise<Array<Static<typeof NodeRecord>>> {
  const [rates, faults] = await Promise.all([ratesOf(ctx.db, lastStep(ctx)), faultsByNode(ctx.db)]);
  return Promise.all(
    nodes
      .filter(({ revoked_at }) => revoked_at === null)
      .map(async ({ server_id, hash: _, revoked_at: __, reported_until: ___, live, ...node }) => ({
        ...node,
        live: live === 1,
        is_behind: compareVersions(node.version, version) < 0,
        lag: await nodeLag(ctx.db, server_id, node.applied_revision, maxLagCounted),
        bytes_per_second: rates.get(node.id) ?? 0,
        faults: faults.get(node.id) ?? [],
      })),
  );
}
