// …/authlist: the IP authlist of an account, or the person's own entries without the admin flag.
import type { FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { requireWritable } from '../../accounts/accounts.ts';
import {
  type AuthlistEntry,
  changeEntry,
  createEntry,
  type EntrySlice,
  entryPageSlices,
  entrySlices,
  entrySorts,
  entryStates,
  lastUses,
  listEntries,
  noSuchEntry,
  proofState,
  removeAllEntries,
  removeEntry,
  requireEntry,
  restoreEntries,
  userIsActive,
} from '../../authlist/authlist.ts';
import type { Reader } from '../../db/database.ts';
import { invalidField } from '../../errors.ts';
import { IdPath, Integer, idOf, Named, OneOf, Strict, Timestamp } from '../../http/fields.ts';
import { knownAddress, ownAddress } from '../../http/own_address.ts';
import { requireChange } from '../../http/responses.ts';
import { created } from '../../http/route.ts';
import { Expiry, Ip, NewEntry, User } from '../account/authlist.ts';
import { EndsBefore, filterIn, listQuery, pageIn, readPage } from '../list_pages.ts';
import { earliest, type Part } from '../lists.ts';
import { Proof } from '../operator/addresses.ts';
import type { Mount } from './mount.ts';
import { Note, noteFields, shownNote } from './notes.ts';
import { removalOfAll, undoOfRemoval } from './removals.ts';
import { onlyOneself, requireSelf, type Scope } from './scope.ts';

export const addressIsTaken =
  'The address is on the authlist already, the user is not part of the account, or the list is full.';
const Entry = Named('OperatorAuthlistEntry', {
  id: Integer('Id of the entry on this account.', 1),
  ip: Type.String({ description: 'IP address.' }),
  user: Type.String({ description: 'User that its connections are assigned to.' }),
  user_active: Type.Boolean({ description: 'Whether that user is an active proxy user.' }),
  expiry: Timestamp('When the entry expires.'),
  proof: Proof,
  last_used_at: Type.Union([Timestamp('Epoch seconds.'), Type.Null()], {
    description: 'When it last let a connection in, to the minute; null: no node reported any.',
  }),
  ...noteFields,
});
const OwnAddress = Named('CallerAddress', {
  ip: Type.String({ description: 'IP address.' }),
  entry: Type.Union([Entry, Type.Null()], {
    description: 'Its entry on the IP authlist, among those that the caller sees; null: none.',
  }),
});
const NotedEntry = Named('NewNotedAuthlistEntry', {
  ...NewEntry.properties,
  note: Type.Optional(Note),
});
const Query = Strict(
  listQuery(entrySorts, {
    ...EndsBefore,
    user: Type.Optional(User),
    state: Type.Optional(
      OneOf(
        [...entryStates],
        'Only entries with this proof; idle: of a user who is not an active proxy user; in_use: of an active one, and it let a connection in or was listed for longer than a day.',
      ),
    ),
  }),
);
const changeable = {
  ip: Type.Optional(Ip),
  user: Type.Optional(User),
  expiry: Type.Optional(Expiry),
  note: Type.Optional(Note),
};
const Changes = Named('ConsoleAuthlistEntryChanges', changeable);
const OperatorChanges = Named('OperatorAuthlistEntryChanges', {
  ...changeable,
  proven: Type.Optional(Type.Boolean({ description: 'Whether you verify the entry.' })),
});
const Restored = Named('RestoreOutcome', {
  restored: Integer('Entries that are back, under their old ids.'),
  left_out: Integer('Entries that have expired since, or whose address is taken.'),
});

/** Errors: 404 for another user's entry, as if it did not exist; not for admins and operators. */
function requireOwn({ only_user }: Scope, entry: AuthlistEntry): void {
  if (only_user && entry.user_id !== only_user.id) throw noSuchEntry();
}

export function authlistRoutes(mount: Mount): void {
  const { ctx, audience, listOf, routesOf, write } = mount;
  const route = routesOf('lists');
  const { rules } = audience;
  const members = ['admin', 'proxy'] as const;
  const admins = ['admin'] as const;
  const find = async (scope: Scope, { id }: IdPath) => {
    const entry = await requireEntry(ctx.db, scope.account_id, idOf(id), ctx.clock.now());
    requireOwn(scope, entry);
    return entry;
  };
  /** Errors: 400 for an operator, whose own address belongs on no account. */
  const addressOf = (request: FastifyRequest) => {
    if (audience.lists_own_address) return ownAddress(request);
    throw invalidField('ip', 'is missing from the body.');
  };
  const present = (entry: AuthlistEntry, last_used_at: number | null) => {
    const { id, ip, user, expiry } = entry;
    const proof = proofState(entry, rules.authlist_proof);
    const user_active = userIsActive(entry);
    return { id, ip, user, user_active, expiry, proof, last_used_at, ...shownNote(entry) };
  };
  const shown = async (
    db: Reader,
    { entries, ...ids }: Pick<EntrySlice, 'entries' | 'after' | 'to'>,
    account_id: number,
  ) => {
    const uses = await lastUses(db, account_id, ids);
    return entries.map((entry) => present(entry, uses.get(entry.id) ?? null));
  };
  const alone = async (entry: AuthlistEntry) => {
    const uses = await lastUses(ctx.db, entry.account_id, { after: entry.id - 1, to: entry.id });
    return present(entry, uses.get(entry.id) ?? null);
  };

  if (audience.lists_own_address) {
    routesOf('sign_in')('GET /address', {
      may: [],
      summary: "The caller's address as the server sees it, and whether it is listed",
      answer: OwnAddress,
      handle: async (request) => {
        const { account_id, only_user } = request.scope;
        const ip = ownAddress(request);
        const filter = { ip, users: only_user && [only_user.name] };
        const [entry] = await listEntries(ctx.db, account_id, filter, ctx.clock.now());
        return { ip, entry: entry ? await alone(entry) : null };
      },
    });
  }

  route('GET /authlist', {
    may: members,
    summary: 'The entries of the IP authlist that hold',
    description:
      'For a person without the admin flag: those of oneself alone. With a limit: a page of them, sorted and filtered.',
    query: Query,
    answer: Type.Array(Entry),
    handle: async ({ scope: { account_id, only_user }, query }, reply) => {
      const page = pageIn(query);
      if (page) {
        const pageFilter = { ...filterIn(query), user: query.user, state: query.state };
        const of = only_user?.id ?? 0;
        const slices = (db: Reader) =>
          entryPageSlices(db, account_id, of, pageFilter, page, ctx.clock.now());
        const rows = await readPage(mount, reply, account_id, page, slices);
        return rows.map((entry) => present(entry, entry.last_used_at));
      }
      const filter = only_user ? { users: [only_user.name] } : {};
      async function* read(db: Reader): AsyncGenerator<Part, void, void> {
        const slices = entrySlices(db, account_id, filter, ctx.clock.now());
        for await (const { isLast, ...slice } of slices) {
          const values = await shown(db, slice, account_id);
          const valid_until = earliest(slice.entries.map(({ expiry }) => expiry));
          yield { values, isLast, valid_until };
        }
      }
      const name = only_user ? `authlist of ${only_user.name}` : 'authlist';
      return listOf(account_id, name, read);
    },
  });

  route('POST /authlist', {
    may: members,
    record: true,
    id: 'create_authlist_entry',
    summary: 'Add an entry',
    body: NotedEntry,
    created: Entry,
    errors: [429],
    statuses: {
      403: onlyOneself,
      409: addressIsTaken,
    },
    handle: async (request) => {
      const { ip = addressOf(request) } = request.body;
      const body = { ...request.body, ip };
      const callerIp = knownAddress(request);
      const entry = await write(request, async (tx, scope) => {
        requireSelf(scope, body.user, 'list addresses for');
        return createEntry(tx, scope.account_id, body, rules, callerIp);
      });
      return created(`${request.scope.path}/authlist/${entry.id}`, present(entry, null));
    },
  });

  route('DELETE /authlist', {
    may: admins,
    ...removalOfAll,
    id: 'remove_all_authlist_entries',
    handle: (request) =>
      write(request, (tx, { account_id }) =>
        removeAllEntries(tx, account_id, () => {}, rules.any_contract),
      ),
  });

  route('POST /authlist/restore', {
    may: members,
    ...undoOfRemoval,
    id: 'restore_authlist',
    description:
      'All or nothing where the list has no room for all that would come back. A person without the admin flag undoes a removal of own entries alone.',
    answer: Restored,
    handle: (request) =>
      write(request, async (tx, { account_id, only_user }) => {
        const account = await requireWritable(tx, account_id, rules.any_contract);
        return restoreEntries(tx, account, request.body.removal_id, rules, only_user?.id);
      }),
  });

  route('GET /authlist/:id', {
    may: members,
    id: 'get_authlist_entry',
    summary: 'One entry',
    params: IdPath,
    answer: Entry,
    handle: async ({ scope, params }) => alone(await find(scope, params)),
  });

  route('PATCH /authlist/:id', {
    may: members,
    record: true,
    find,
    id: 'change_authlist_entry',
    summary: 'Change an entry',
    params: IdPath,
    body: audience.is_operator ? OperatorChanges : Changes,
    answer: Entry,
    errors: [429],
    statuses: {
      403: onlyOneself,
      409: addressIsTaken,
    },
    handle: async (request) => {
      const { body, params } = request;
      requireChange(body);
      const callerIp = audience.is_operator ? undefined : knownAddress(request);
      const entry = await write(request, async (tx, scope) => {
        requireSelf(scope, body.user, 'list addresses for');
        const isOwn = (before: AuthlistEntry) => requireOwn(scope, before);
        const id = idOf(params.id);
        return changeEntry(tx, scope.account_id, id, body, rules, isOwn, callerIp);
      });
      return alone(entry);
    },
  });

  route('DELETE /authlist/:id', {
    may: members,
    record: true,
    find,
    id: 'remove_authlist_entry',
    summary: 'Remove an entry',
    params: IdPath,
    handle: (request) =>
      write(request, (tx, scope) =>
        removeEntry(
          tx,
          scope.account_id,
          idOf(request.params.id),
          (before) => requireOwn(scope, before),
          rules.any_contract,
        ),
      ),
  });
}
