// …/overrides: the custom DNS entries of an account, and which nodes have applied them.
import { Type } from 'typebox';
import { requireWritable } from '../../accounts/accounts.ts';
import type { Reader } from '../../db/database.ts';
import { IdPath, Integer, idOf, Named, OneOf, Strict, Text, Timestamp } from '../../http/fields.ts';
import { requireChange } from '../../http/responses.ts';
import { created } from '../../http/route.ts';
import { nodesOfServer } from '../../nodes/nodes.ts';
import {
  changeOverride,
  createOverride,
  lastChangeOf,
  nextChangeAt,
  nodesOfOverride,
  nodesOfServers,
  type Override,
  type OverrideStatus,
  overridePageSlices,
  overrideSlices,
  overrideSorts,
  overrideStates,
  removeAllOverrides,
  removeOverride,
  requireOverride,
  restoreOverrides,
  type ServerNode,
  statusOf,
} from '../../overrides/overrides.ts';
import { NewOverride } from '../account/overrides.ts';
import { EndsBefore, filterIn, listQuery, pageIn, readPage } from '../list_pages.ts';
import { partsOf } from '../lists.ts';
import { turnOf } from '../long_reads.ts';
import type { Mount } from './mount.ts';
import { Note, noteFields, shownNote } from './notes.ts';
import { removalOfAll, undoOfRemoval } from './removals.ts';
import type { Scope } from './scope.ts';

const entryFields = {
  id: Integer('Id of the entry on this account.', 1),
  server: Type.String({ description: 'Short name of the server where the entry is active.' }),
  hostname: Type.String({ description: 'Hostname that is overridden.' }),
  ip: Type.String({ description: 'IP address the hostname resolves to.' }),
  expiry: Timestamp('When the entry expires.'),
  status: OneOf(['pending', 'active', 'expiring', 'expired'], 'Its state.'),
  on_contract: Type.Boolean({ description: 'Whether its server is on the contract.' }),
  ...noteFields,
};
const nodeFields = {
  name: Type.String({ description: 'What the machine calls itself.' }),
  live: Type.Boolean({
    description: 'Whether it was heard of lately. The live nodes count; where none is, all do.',
  }),
  applied: Type.Boolean({ description: "Whether it has applied the entry's last change." }),
};
const Entry = Named('ConsoleOverride', {
  ...entryFields,
  nodes: Type.Array(Named('NodeOfEntry', nodeFields), {
    description:
      'The nodes of its server while the entry waits for them: pending, or expiring. Else none.',
  }),
});
const EntryOnNodes = Named('OverrideOnNodes', {
  ...entryFields,
  nodes: Type.Array(Named('EntryNode', { id: Integer('Id of the node.', 1), ...nodeFields }), {
    description: 'The nodes of its server.',
  }),
});
const NotedOverride = Named('NewNotedOverride', {
  ...NewOverride.properties,
  note: Type.Optional(Note),
});
const Changes = Named('ConsoleOverrideChanges', Type.Partial(NotedOverride).properties);
const Query = Strict(
  listQuery(overrideSorts, {
    ...EndsBefore,
    server: Type.Optional(Text('Only entries on this server.')),
    state: Type.Optional(
      OneOf([...overrideStates], 'Only entries of this state; current: all but expired ones.'),
    ),
  }),
);
const Restored = Named('OverridesRestoreOutcome', {
  restored: Integer('Entries that are back, under their old ids.'),
  left_out: Integer(
    'Entries that have expired since, whose server is gone, or whose hostname has a new entry.',
  ),
});

function presentNode({ name, live, applied_revision }: ServerNode, wanted: number) {
  return { name, live: live === 1, applied: applied_revision >= wanted };
}

/** An entry with its server's nodes, as `present` shows them by the change they should have. */
function presentEntry<Node>(
  entry: Override,
  now: number,
  present: (status: OverrideStatus, wanted: number) => Node[],
) {
  const { id, server, hostname, ip, expiry, contract_revision } = entry;
  const status = statusOf(entry, now);
  const nodes = present(status, lastChangeOf(entry, now) ?? Number.POSITIVE_INFINITY);
  return {
    id,
    server,
    hostname,
    ip,
    expiry,
    status,
    on_contract: contract_revision !== null,
    ...shownNote(entry),
    nodes,
  };
}

/** Few entries of a long list are pending: it omits the nodes for the others. */
function presentListed(entry: Override, nodes: ServerNode[], now: number) {
  return presentEntry(entry, now, (status, wanted) => {
    const waits = status === 'pending' || status === 'expiring';
    return waits ? nodes.map((node) => presentNode(node, wanted)) : [];
  });
}

export function overrideRoutes(mount: Mount): void {
  const { ctx, audience, listOf, routesOf, write } = mount;
  const route = routesOf('lists');
  const { rules } = audience;
  const may = ['admin'] as const;
  const find = ({ account_id }: Scope, { id }: IdPath) =>
    requireOverride(ctx.db, account_id, idOf(id), ctx.clock.now());
  const shown = async (entry: Override) =>
    presentListed(entry, await nodesOfOverride(ctx.db, entry.server_id), ctx.clock.now());

  route('GET /overrides', {
    may,
    summary: 'The custom DNS entries, including expired and expiring ones',
    description: 'With a limit: a page of them, sorted and filtered.',
    query: Query,
    answer: Type.Array(Entry),
    handle: async ({ scope: { account_id }, query }, reply) => {
      const page = pageIn(query);
      await turnOf(account_id);
      const now = ctx.clock.now();
      // Nodes first: one that applies an entry in the meantime is shown late, never early.
      const nodes = Map.groupBy(await nodesOfServers(ctx.db), ({ server_id }) => server_id);
      const present = (entry: Override) =>
        presentListed(entry, nodes.get(entry.server_id) ?? [], now);
      if (page) {
        const pageFilter = { ...filterIn(query), server: query.server, state: query.state };
        const slices = (db: Reader) => overridePageSlices(db, account_id, pageFilter, page, now);
        return (await readPage(mount, reply, account_id, page, slices)).map(present);
      }
      return listOf(account_id, 'overrides', (db) =>
        partsOf(overrideSlices(db, account_id, {}, now), present, (entry) =>
          nextChangeAt(entry, now),
        ),
      );
    },
  });

  route('POST /overrides', {
    may,
    record: true,
    summary: 'Add an entry',
    body: NotedOverride,
    created: Entry,
    errors: [409],
    handle: async (request) => {
      const entry = await write(request, async (tx, { account_id }) => {
        return createOverride(tx, account_id, request.body, rules);
      });
      return created(`${request.scope.path}/overrides/${entry.id}`, await shown(entry));
    },
  });

  route('DELETE /overrides', {
    may,
    ...removalOfAll,
    id: 'remove_all_overrides',
    handle: (request) =>
      write(request, (tx, { account_id }) =>
        removeAllOverrides(tx, account_id, () => {}, rules.any_contract),
      ),
  });

  route('POST /overrides/restore', {
    may,
    ...undoOfRemoval,
    id: 'restore_overrides',
    description: 'All or nothing where the list has no room for all that would come back.',
    answer: Restored,
    handle: (request) =>
      write(request, async (tx, { account_id }) => {
        const account = await requireWritable(tx, account_id, rules.any_contract);
        return restoreOverrides(tx, account, request.body.removal_id, rules);
      }),
  });

  route('GET /overrides/:id', {
    may,
    summary: 'One custom DNS entry, and which nodes have applied it',
    params: IdPath,
    answer: EntryOnNodes,
    handle: async ({ scope, params }) => {
      const now = ctx.clock.now();
      const entry = await find(scope, params);
      const nodes = await nodesOfServer(ctx.db, entry.server_id);
      return presentEntry(entry, now, (_, wanted) =>
        nodes.map((node) => ({ id: node.id, ...presentNode(node, wanted) })),
      );
    },
  });

  route('PATCH /overrides/:id', {
    may,
    record: true,
    find,
    summary: 'Change an entry: it is pending again, and an expired one revives with a new expiry',
    params: IdPath,
    body: Changes,
    answer: Entry,
    errors: [409],
    handle: async (request) => {
      const { body, params } = request;
      requireChange(body);
      const entry = await write(request, async (tx, { account_id }) => {
        return changeOverride(tx, account_id, idOf(params.id), body, rules, () => {});
      });
      return shown(entry);
    },
  });

  route('DELETE /overrides/:id', {
    may,
    record: true,
    find,
    summary: 'Remove an entry',
    params: IdPath,
    handle: (request) =>
      write(request, (tx, { account_id }) =>
        removeOverride(tx, account_id, idOf(request.params.id), () => {}, rules.any_contract),
      ),
  });
}
