// …/authlist and …/overrides, many at once: remove, set the expiry, add pasted lines; all or none.
import { Type } from 'typebox';
import { requireWritable } from '../../accounts/accounts.ts';
import {
  type Asking,
  addPasted,
  changeExpiries,
  examinePasted,
  pastedLines,
  removeEntries,
} from '../../authlist/authlist.ts';
import type { Transaction } from '../../db/database.ts';
import { ErrorCode, Integer, Named, OneOf, Removed } from '../../http/fields.ts';
import { changeOverrideExpiries, removeOverrides } from '../../overrides/overrides.ts';
import { Expiry, User } from '../account/authlist.ts';
import { Changed, Ids, maxAtOnce, oneIsMissing, rejectRepeated } from '../at_once.ts';
import { addressIsTaken } from './authlist.ts';
import type { Mount } from './mount.ts';
import { Note } from './notes.ts';
import { onlyOneself, requireSelf, type Scope } from './scope.ts';

const Id = Integer('Id of an entry.', 1);

const Expiries = Named('EntryExpiries', {
  entries: Type.Array(Named('EntryExpiry', { id: Id, expiry: Expiry }), {
    description: `Which entries, each once, and when each is to expire: at most ${maxAtOnce}.`,
    minItems: 1,
    maxItems: maxAtOnce,
  }),
});
const Pasted = Named('PastedAddresses', {
  addresses: Type.String({
    description: `One address on each line, at most ${maxAtOnce}. Blank lines do not count; what stands behind # is the note of the entry.`,
    maxLength: 60_000,
  }),
  user: User,
  expiry: Expiry,
  note: Type.Optional(Note),
  dry_run: Type.Optional(
    Type.Boolean({ description: 'Only says what would come of each line, and adds nothing.' }),
  ),
});
const PastedResult = Named('AddedAddresses', {
  added: Integer('Entries that were added; of a dry run: that would be.'),
  lines: Type.Array(
    Named('PastedLine', {
      line: Integer('Number of the line.', 1),
      ip: Type.String({ description: 'The address; as it was written, where it is none.' }),
      outcome: OneOf(
        ['new', 'listed', 'repeated', 'fault'],
        'new: it is added; listed: the user has it already; repeated: a line before says the same; fault: it cannot be added, and so none is.',
      ),
      id: Type.Optional(Id),
      code: Type.Optional(ErrorCode),
      message: Type.Optional(Type.String({ description: 'Of a fault: what is wrong.' })),
    }),
    { description: 'What came, or would come, of each line that holds an address.' },
  ),
});

interface Expiring {
  id: number;
  expiry: number;
}

export function manyRoutes({ audience, routesOf, write }: Mount): void {
  const route = routesOf('lists');
  const { rules } = audience;
  const { any_contract } = rules;
  const asking = ({ only_user }: Scope): Asking => ({
    any_contract,
    isOwn: ({ user_id }) => !only_user || only_user.id === user_id,
  });
  const lists = [
    {
      path: 'authlist',
      may: ['admin', 'proxy'],
      ids: ['remove_authlist_entries', 'change_authlist_expiries'],
      remove: (tx: Transaction, scope: Scope, ids: readonly number[]) =>
        removeEntries(tx, scope.account_id, ids, asking(scope)),
      change: (tx: Transaction, scope: Scope, entries: readonly Expiring[]) =>
        changeExpiries(tx, scope.account_id, entries, asking(scope)),
    },
    {
      path: 'overrides',
      may: ['admin'],
      ids: ['remove_overrides', 'change_override_expiries'],
      remove: (tx: Transaction, { account_id }: Scope, ids: readonly number[]) =>
        removeOverrides(tx, account_id, ids, any_contract),
      change: (tx: Transaction, { account_id }: Scope, entries: readonly Expiring[]) =>
        changeOverrideExpiries(tx, account_id, entries, any_contract),
    },
  ] as const;
  for (const {
    path,
    may,
    ids: [removeId, changeId],
    remove,
    change,
  } of lists) {
    route(`POST /${path}/remove`, {
      may,
      record: true,
      id: removeId,
      summary: 'Remove entries, all or none; it can be undone for seven days',
      body: Ids,
      answer: Removed,
      statuses: { 404: oneIsMissing('entries') },
      handle: (request) => {
        const { ids } = request.body;
        return write(request, (tx, scope) => remove(tx, scope, ids), ids.length);
      },
    });

    route(`PATCH /${path}`, {
      may,
      record: true,
      id: changeId,
      summary: 'Give entries other expiries, all or none',
      body: Expiries,
      answer: Changed,
      statuses: {
        404: oneIsMissing('entries'),
        409: 'The server of an entry is not on the contract, or an expired one has lost its hostname; nothing was done.',
      },
      handle: async (request) => {
        const { entries } = request.body;
        rejectRepeated(
          entries.map(({ id }) => id),
          (at) => `entries.${at}.id`,
        );
        await write(request, (tx, scope) => change(tx, scope, entries), entries.length);
        return { changed: entries.length };
      },
    });
  }

  route('POST /authlist/add', {
    may: ['admin', 'proxy'],
    record: true,
    id: 'add_addresses',
    summary: 'Add the addresses of many lines, all or none',
    description:
      'With dry_run it says what would come of each line. An address that the user has already stays as it is.',
    body: Pasted,
    answer: PastedResult,
    errors: [429],
    statuses: {
      403: onlyOneself,
      409: addressIsTaken,
    },
    handle: async (request) => {
      const { addresses, dry_run = false, ...body } = request.body;
      const pasted = { ...body, lines: pastedLines(addresses) };
      const lines = await write(
        request,
        async (tx, scope) => {
          requireSelf(scope, body.user, 'list addresses for');
          const account = await requireWritable(tx, scope.account_id, any_contract);
          const add = dry_run ? examinePasted : addPasted;
          return add(tx, account, pasted, rules);
        },
        dry_run ? 1 : pasted.lines.length,
      );
      return { added: lines.filter(({ outcome }) => outcome === 'new').length, lines };
    },
  });
}
