// …/users, many at once: given permissions or limits, or signed out; all or none.
import { type Static, Type } from 'typebox';
import type { Transaction } from '../../db/database.ts';
import { inTurns } from '../../db/slices.ts';
import { invalidField } from '../../errors.ts';
import { Integer, Named, Strict } from '../../http/fields.ts';
import { endSessionsOf } from '../../sign_in/sign_in.ts';
import { requireUsers, type User } from '../../users/users.ts';
import { Changed, Ids, maxAtOnce, oneIsMissing, rejectRepeated } from '../at_once.ts';
import type { Mount } from './mount.ts';
import type { Scope } from './scope.ts';
import { GivenPassword, passwordErrors } from './sign_in_fields.ts';
import { changeAs, noAdminLeft, UserRights } from './users.ts';

const Id = Integer('Id of a user.', 1);
const many = { minItems: 1, maxItems: maxAtOnce };
const Changes = Named('AccountUsersChanges', {
  users: Type.Array(Strict({ id: Id, ...UserRights }), {
    description: `Which users, each once, and what changes of each: at most ${maxAtOnce}.`,
    ...many,
  }),
});
const ConfirmedChanges = Named('ConsoleUsersChanges', {
  ...Changes.properties,
  password: Type.Optional(GivenPassword('Your password: needed to make somebody an active admin.')),
});

export function manyUserRoutes({ audience, routesOf, write }: Mount): void {
  const route = routesOf('users');
  const { confirmPassword } = audience;
  /** Handles each user, in the order given. Errors: 404 naming the first that does not exist. */
  const each = async (
    tx: Transaction,
    { account_id }: Scope,
    ids: readonly number[],
    fieldOf: (at: number) => string,
    action: (user: User, at: number) => Promise<unknown>,
  ) => {
    const users = await requireUsers(tx, account_id, ids, fieldOf);
    for await (const [at, user] of inTurns([...users.entries()])) await action(user, at);
  };

  route('PATCH /users', {
    may: ['admin'],
    id: 'change_users',
    summary: 'Change users, all or none',
    description: 'Each as a change of it alone would; an error names the user by its place.',
    body: confirmPassword ? ConfirmedChanges : Changes,
    answer: Changed,
    statuses: {
      404: oneIsMissing('users'),
      ...(confirmPassword && passwordErrors(`${noAdminLeft} Nothing was done.`)),
    },
    handle: async (request) => {
      const { users: changes, password } = request.body as Static<typeof ConfirmedChanges>;
      const ids = changes.map(({ id }) => id);
      const fieldOf = (at: number) => `users.${at}.id`;
      rejectRepeated(ids, fieldOf);
      if (password !== undefined) await confirmPassword?.(request, password);
      const change = (tx: Transaction) => async (user: User, at: number) => {
        const { id: _, ...change } = changes[at] ?? {};
        if (Object.keys(change).length === 0) {
          throw invalidField(
            `users.${at}`,
            'changes nothing; expected `active`, `flags` or `limits`.',
          );
        }
        const isConfirmed = password !== undefined;
        await changeAs(audience, tx, user, change, isConfirmed, `users.${at}.flags`);
      };
      await write(
        request,
        (tx, scope) => each(tx, scope, ids, fieldOf, change(tx)),
        changes.length,
      );
      return { changed: changes.length };
    },
  });

  route('POST /users/end_sessions', {
    may: ['admin'],
    id: 'end_sessions_of_users',
    summary: 'End all sessions of users',
    body: Ids,
    statuses: { 404: oneIsMissing('users') },
    handle: (request) => {
      const { ids } = request.body;
      const end = (tx: Transaction, scope: Scope) =>
        each(
          tx,
          scope,
          ids,
          (at) => `ids.${at}`,
          (user) => endSessionsOf(tx, user),
        );
      return write(request, end, ids.length);
    },
  });
}
