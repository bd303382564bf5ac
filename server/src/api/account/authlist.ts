// /v0/contract/ip-authlist, and the earlier variant's /v0/contract/whitelist: one list, two paths.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import {
  type AuthlistEntry,
  type AuthlistRules,
  type ChangedEntry,
  changeEntry,
  createEntry,
  type EntrySlice,
  entrySlices,
  removeAllEntries,
  removeEntry,
  requireEntry,
  userIsActive,
} from '../../authlist/authlist.ts';
import { conflictCap } from '../../authlist/conflicts.ts';
import { restoredCap } from '../../bounds/hourly.ts';
import type { Reader } from '../../db/database.ts';
import { IdPath, Integer, Named, Strict, Text, Timestamp, words } from '../../http/fields.ts';
import { knownAddress, ownAddress } from '../../http/own_address.ts';
import { partsOf } from '../lists.ts';
import type { AccountContext } from './context.ts';
import { listed, removesAll, requireListMatch, requireMatch } from './responses.ts';
import { accountOf, idIn, Routes } from './route.ts';
import type { Variant } from './session.ts';

const Entry = Named('AuthlistEntry', {
  id: Integer('Unique identifier used to manage the entry.', 1),
  ip: Type.String({ description: 'IP address.' }),
  user: Type.String({ description: 'Username that connections from `ip` are assigned to.' }),
  user_active: Type.Boolean({
    description: 'Whether the associated user is an active proxy user.',
  }),
  expiry: Timestamp('When the entry expires.'),
});

export const Ip = Text('IP address: one IPv4 or IPv6 address.', 64);
export const User = Text('Username that connections from the address are assigned to.');
export const Expiry = Integer(
  'When the entry expires, epoch seconds; at most 10 years from now.',
  0,
);
export const NewEntry = Named('NewAuthlistEntry', {
  ip: Type.Optional(Text('IP address; the one that the request comes from when omitted.', 64)),
  user: User,
  expiry: Expiry,
});
const Changes = Named('AuthlistEntryChanges', {
  ip: Type.Optional(Ip),
  user: Type.Optional(User),
  expiry: Type.Optional(Expiry),
  id: Type.Optional(Type.Unknown({ description: 'Ignored.' })),
  user_active: Type.Optional(Type.Unknown({ description: 'Ignored.' })),
});
const ListQuery = Strict({
  ip: Type.Optional(Text('Full or partial IP address.', 64)),
  user: Type.Optional(Text('Comma-separated usernames of the account.', 8192)),
});

function presentEntry(entry: AuthlistEntry) {
  const { id, ip, user, expiry } = entry;
  return { id, ip, user, user_active: userIsActive(entry), expiry };
}

const presented = (slices: AsyncIterable<EntrySlice>) =>
  partsOf(slices, presentEntry, ({ expiry }) => expiry);

const addressIsTaken =
  'The address is on the authlist already (one entry holds an address in the whole network of a port scheme), the user is not part of the account, or the list is full.';

/** The settings of this list, with one count of conflicts for all interfaces. */
export function authlistRules({ config }: Pick<AccountContext, 'config'>): AuthlistRules {
  return {
    ...config,
    conflicts: conflictCap(config.conflicts_per_hour),
    restored: restoredCap(config.restored_entries_per_hour),
  };
}

/** The same routes under each variant's path. */
export function authlistRoutes(
  app: FastifyInstance,
  ctx: AccountContext,
  rules: AuthlistRules,
): void {
  addRoutes(app, ctx, rules, 'current', '/contract/ip-authlist', '/v0/contract/whitelist');
  addRoutes(app, ctx, rules, 'earlier', '/contract/whitelist', '/v0/contract/ip-authlist');
}

function addRoutes(
  app: FastifyInstance,
  ctx: AccountContext,
  rules: AuthlistRules,
  variant: Variant,
  path: string,
  counterpart: string,
): void {
  const routes = new Routes(app, ctx);
  const isCurrent = variant === 'current';
  const tag = isCurrent ? 'IP authlist' : 'IP whitelist (earlier variant)';
  const noun = isCurrent ? 'authlist' : 'whitelist';
  const ofList = { variant, counterpart, tag } as const;
  const ofEntry = {
    ...ofList,
    params: IdPath,
    find: (request: FastifyRequest) =>
      requireEntry(ctx.db, accountOf(request), idIn(request), ctx.clock.now()),
  };
  /** With `Prefer: wait`, the entry is shown again once the nodes have it. */
  const shown = (entry: ChangedEntry) => {
    const value = presentEntry(entry);
    return {
      value,
      whenApplied: async (wait_seconds: number) => {
        const { account_id, revision } = entry;
        const waited = await ctx.whenApplied(account_id, null, revision, wait_seconds);
        return waited && { value, ...waited };
      },
    };
  };

  routes.read(`GET /v0${path}`, {
    ...ofList,
    id: `list_${noun}_entries`,
    summary: 'List entries',
    description:
      'Entries that hold, by id; expired ones leave the list. `ip` matches a whole address in any spelling, anything else as a part of the address as it is shown. `user` restricts to those users.',
    query: ListQuery,
    answer: Type.Array(Entry),
    handle: async (request) => {
      const { ip, user } = request.query;
      const filter = { ip, users: words('user', user) };
      const account_id = accountOf(request);
      const read = (db: Reader) => presented(entrySlices(db, account_id, filter, ctx.clock.now()));
      const name = request.raw.url ?? '';
      return listed(await ctx.lists.make(account_id, name, request.session.versions, read));
    },
  });

  routes.change(`POST /v0${path}`, {
    ...ofList,
    id: `create_${noun}_entry`,
    summary: 'Add an entry',
    description:
      'Lists an address for a user. Without `ip` the address that the request comes from is listed. A user without the proxy permission may be listed, and gets no access by it.',
    body: NewEntry,
    created: Entry,
    statuses: { 409: addressIsTaken },
    handle: async (tx, request) => {
      const body = { ...request.body, ip: request.body.ip ?? ownAddress(request) };
      const entry = await createEntry(tx, accountOf(request), body, rules, knownAddress(request));
      return { status: 201, headers: { location: `${path}/${entry.id}` }, ...shown(entry) };
    },
  });

  routes.change(`DELETE /v0${path}`, {
    ...ofList,
    id: `remove_all_${noun}_entries`,
    summary: 'Remove all entries of the account',
    description: removesAll,
    handle: async (tx, request) => {
      await removeAllEntries(tx, accountOf(request), (all) =>
        requireListMatch(request, () => presented(all())),
      );
      return { status: 204 };
    },
  });

  routes.read(`GET /v0${path}/:id`, {
    ...ofList,
    findFirst: true,
    params: IdPath,
    id: `get_${noun}_entry`,
    summary: 'One entry',
    answer: Entry,
    handle: async (request) => {
      const entry = await requireEntry(ctx.db, accountOf(request), idIn(request), ctx.clock.now());
      return { value: presentEntry(entry), valid_until: entry.expiry };
    },
  });

  routes.change(`PATCH /v0${path}/:id`, {
    ...ofEntry,
    id: `change_${noun}_entry`,
    summary: 'Change an entry',
    description: 'Changes any of `ip`, `user` and `expiry`; what is left out stays.',
    body: Changes,
    answer: Entry,
    statuses: { 409: addressIsTaken },
    handle: async (tx, request) => {
      const { ip, user, expiry } = request.body;
      const entry = await changeEntry(
        tx,
        accountOf(request),
        idIn(request),
        { ip, user, expiry },
        rules,
        (before) => requireMatch(request, () => presentEntry(before)),
        knownAddress(request),
      );
      return { status: 200, ...shown(entry) };
    },
  });

  routes.change(`DELETE /v0${path}/:id`, {
    ...ofEntry,
    id: `remove_${noun}_entry`,
    summary: 'Remove an entry',
    handle: async (tx, request) => {
      await removeEntry(tx, accountOf(request), idIn(request), (before) =>
        requireMatch(request, () => presentEntry(before)),
      );
      return { status: 204 };
    },
  });
}
