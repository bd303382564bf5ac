// /v0/contract/overrides: custom DNS entries, the same in both variants.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import type { Reader } from '../../db/database.ts';
import {
  IdPath,
  Integer,
  Named,
  OneOf,
  Strict,
  Text,
  Timestamp,
  words,
} from '../../http/fields.ts';
import {
  changeOverride,
  createOverride,
  findOverride,
  nextChangeAt,
  type Override,
  type OverrideSlice,
  overrideSlices,
  removeAllOverrides,
  removeOverride,
  requireOverride,
  statusOf,
} from '../../overrides/overrides.ts';
import { partsOf } from '../lists.ts';
import type { AccountContext } from './context.ts';
import { listed, removesAll, requireListMatch, requireMatch } from './responses.ts';
import { accountOf, idIn, Routes } from './route.ts';

const Entry = Named('Override', {
  id: Integer('Unique identifier used to manage the entry.', 1),
  server: Type.String({
    description: 'Short name of the proxy server where the entry is active.',
  }),
  hostname: Type.String({ description: 'Hostname that is overridden.' }),
  ip: Type.String({ description: 'IP address the hostname resolves to.' }),
  expiry: Timestamp('When the entry expires.'),
  status: OneOf(
    ['pending', 'active', 'expiring', 'expired'],
    'Whether it is wanted, and applied by the nodes of the server.',
  ),
});

export const NewOverride = Named('NewOverride', {
  server: Text('Short name of a server that is on the contract.'),
  hostname: Text('Hostname to override.', 512),
  ip: Text('IP address the hostname resolves to.', 64),
  expiry: Integer('When the entry expires, epoch seconds; at most 10 years from now.', 0),
});
const Changes = Named('OverrideChanges', {
  ...Type.Partial(NewOverride).properties,
  id: Type.Optional(Type.Unknown({ description: 'Ignored.' })),
  status: Type.Optional(Type.Unknown({ description: 'Ignored.' })),
});
const ListQuery = Strict({
  ip: Type.Optional(Text('An IP address.', 64)),
  server: Type.Optional(Text('Comma-separated server short names.', 8192)),
});

const path = '/contract/overrides';
const tag = 'Custom DNS entries' as const;

export function overrideRoutes(app: FastifyInstance, ctx: AccountContext): void {
  const routes = new Routes(app, ctx);
  const present = (override: Override) => {
    const { id, server, hostname, ip, expiry } = override;
    return { id, server, hostname, ip, expiry, status: statusOf(override, ctx.clock.now()) };
  };
  const presented = (slices: AsyncIterable<OverrideSlice>, now: number) =>
    partsOf(slices, present, (entry) => nextChangeAt(entry, now));
  const ofEntry = {
    tag,
    params: IdPath,
    find: (request: FastifyRequest) =>
      requireOverride(ctx.db, accountOf(request), idIn(request), ctx.clock.now()),
  };
  /** With `Prefer: wait`, the entry is read again once the nodes have it, unless it was removed. */
  const shown = (override: Override) => {
    const value = present(override);
    return {
      value,
      whenApplied: async (wait_seconds: number) => {
        const { account_id, server_id, id, revision } = override;
        const wait = [account_id, server_id, revision, wait_seconds] as const;
        const waited = await ctx.whenApplied(...wait);
        if (!waited) return undefined;
        const reached = await findOverride(ctx.db, account_id, id, ctx.clock.now());
        return { value: reached ? present(reached) : value, ...waited };
      },
    };
  };

  routes.read(`GET /v0${path}`, {
    tag,
    id: 'list_overrides',
    summary: 'List entries, including expired and expiring ones',
    description: '`ip` takes one whole address in any spelling; `server` names of servers.',
    query: ListQuery,
    answer: Type.Array(Entry),
    handle: async (request) => {
      const now = ctx.clock.now();
      const filter = { ip: request.query.ip, servers: words('server', request.query.server) };
      const account_id = accountOf(request);
      const read = (db: Reader) => presented(overrideSlices(db, account_id, filter, now), now);
      const name = request.raw.url ?? '';
      return listed(await ctx.lists.make(account_id, name, request.session.versions, read));
    },
  });

  routes.change(`POST /v0${path}`, {
    tag,
    id: 'create_override',
    summary: 'Add an entry',
    body: NewOverride,
    created: Entry,
    statuses: {
      409: 'The hostname is overridden on that server already, the server is not on the account, or the list is full.',
    },
    handle: async (tx, request) => {
      const override = await createOverride(tx, accountOf(request), request.body, ctx.config);
      return { status: 201, headers: { location: `${path}/${override.id}` }, ...shown(override) };
    },
  });

  routes.change(`DELETE /v0${path}`, {
    tag,
    id: 'remove_all_overrides',
    summary: 'Remove all entries of the account',
    description: removesAll,
    handle: async (tx, request) => {
      await removeAllOverrides(tx, accountOf(request), (all) =>
        requireListMatch(request, () => presented(all(), tx.now)),
      );
      return { status: 204 };
    },
  });

  routes.read(`GET /v0${path}/:id`, {
    tag,
    findFirst: true,
    params: IdPath,
    id: 'get_override',
    summary: 'One entry',
    answer: Entry,
    handle: async (request) => {
      const now = ctx.clock.now();
      const override = await requireOverride(ctx.db, accountOf(request), idIn(request), now);
      return { value: present(override), valid_until: nextChangeAt(override, now) };
    },
  });

  routes.change(`PATCH /v0${path}/:id`, {
    ...ofEntry,
    id: 'change_override',
    summary: 'Change an entry',
    description:
      'Changes any of `server`, `hostname`, `ip` and `expiry`; what is left out stays. The entry is `pending` again. A new `expiry` revives an expired one.',
    body: Changes,
    answer: Entry,
    statuses: {
      409: 'The hostname is overridden on that server already, the entry has expired and no new `expiry` was sent, or the server is not on the account: no changes were made.',
    },
    handle: async (tx, request) => {
      const { server, hostname, ip, expiry } = request.body;
      const override = await changeOverride(
        tx,
        accountOf(request),
        idIn(request),
        { server, hostname, ip, expiry },
        ctx.config,
        (before) => requireMatch(request, () => present(before)),
      );
      return { status: 200, ...shown(override) };
    },
  });

  routes.change(`DELETE /v0${path}/:id`, {
    ...ofEntry,
    id: 'remove_override',
    summary: 'Remove an entry',
    handle: async (tx, request) => {
      await removeOverride(tx, accountOf(request), idIn(request), (before) =>
        requireMatch(request, () => present(before)),
      );
      return { status: 204 };
    },
  });
}
