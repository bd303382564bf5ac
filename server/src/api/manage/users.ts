// …/users: the users of an account, and how each signs in.
import { type Static, Type } from 'typebox';
import { requireAccount } from '../../accounts/accounts.ts';
import type { Reader, Transaction } from '../../db/database.ts';
import { invalidField } from '../../errors.ts';
import { Integer, Named, OneOf, Strict, Timestamp } from '../../http/fields.ts';
import { requireChange } from '../../http/responses.ts';
import { created } from '../../http/route.ts';
import {
  revokeSessions,
  signInFacts,
  userFlags,
  userPageSlices,
  userSorts,
  userStates,
} from '../../sign_in/sign_in.ts';
import {
  changeUser,
  createUser,
  limitsOfUsers,
  makeAdmin,
  periodOfUsers,
  raiseTokenVersion,
  requireOtherAdmin,
  requireUserNamed,
  type User,
  type UserChanges,
  userSlices,
} from '../../users/users.ts';
import { presentUser, UserRecord } from '../account/users.ts';
import { filterIn, listQuery, pageIn, readPage } from '../list_pages.ts';
import { never, type Part } from '../lists.ts';
import { DisplayName, Flags, LimitChanges, Limits, NewUser } from '../user_fields.ts';
import type { Mount } from './mount.ts';
import { type Audience, requireSelf, type Scope } from './scope.ts';
import { GivenPassword, passwordErrors } from './sign_in_fields.ts';

const Moment = (description: string) =>
  Type.Union([Timestamp('Epoch seconds.'), Type.Null()], { description });
const UserSigningIn = Named('UserSigningIn', {
  ...UserRecord.properties,
  limits: Limits,
  period: Strict(
    {
      start: Timestamp('Start of the running billing period.'),
      end: Timestamp('Its end, where the next one starts.'),
      usage: Integer('Bytes of the user in it.'),
    },
    'Usage, which `limit_bytes` is compared with.',
  ),
  over_limit: Type.Boolean({ description: 'Whether `limit_bytes` is used up.' }),
  sign_in: Named(
    'SignInFacts',
    {
      has_password: Type.Boolean({ description: 'Whether a password is set.' }),
      second_factor: Type.Boolean({ description: 'Whether a second factor is in force.' }),
      invited_until: Moment('When the open invitation ends; null without one.'),
      last_sign_in_at: Moment('When the user last signed in; null: never.'),
      sessions: Integer('Open sessions.'),
    },
    'How the user signs in to the console.',
  ),
});
const Query = Strict(
  listQuery(userSorts, {
    state: Type.Optional(
      OneOf(
        [...userStates],
        'Only users in this state; invited: active, with an open invitation, and never signed in; limit_reached: their bytes are used up, or `active_until` has come.',
      ),
    ),
    flag: Type.Optional(OneOf([...userFlags], 'Only users who have this permission.')),
  }),
);
export const UserRights = {
  active: Type.Optional(Type.Boolean({ description: 'Whether the user is enabled.' })),
  flags: Type.Optional(Flags),
  limits: Type.Optional(LimitChanges),
};
const Changes = Named('AccountUserChanges', {
  display_name: Type.Optional(DisplayName),
  ...UserRights,
});
const ConfirmedChanges = Named('ConsoleUserChanges', {
  ...Changes.properties,
  password: Type.Optional(GivenPassword('Your password: needed to make somebody an active admin.')),
});

export const UserPath = Type.Object({ user: Type.String({ description: 'User name.' }) });
export type UserPath = Static<typeof UserPath>;

/** The user in a path. Errors: 404. */
export const userOf = (db: Reader, { account_id }: Scope, { user }: UserPath) =>
  requireUserNamed(db, account_id, user);

export const noAdminLeft =
  'No active user with the admin flag would be left; or the person who gives a password has none yet.';

/**
 * Changes a user, as far as the audience may. `isConfirmed`: the client gave the password. Errors:
 * those of `changeUser`; 400 if the password is needed; 409 naming the `field` when no active admin
 * would be left.
 */
export async function changeAs(
  { confirmPassword, keeps_an_admin }: Audience,
  tx: Transaction,
  before: User,
  changes: UserChanges,
  isConfirmed: boolean,
  field = 'flags',
): Promise<User> {
  if (confirmPassword && !isConfirmed && makeAdmin(changes, before)) {
    throw invalidField('password', 'is missing; it is needed to make somebody an admin.');
  }
  if (keeps_an_admin) await requireOtherAdmin(tx, before, changes, field);
  return changeUser(tx, before, changes, revokeSessions);
}

export function userRoutes(mount: Mount): void {
  const { ctx, audience, listOf, routesOf, write } = mount;
  const route = routesOf('users');
  const { confirmPassword } = audience;
  const adminsAndSelf = ['admin', 'proxy'] as const;
  /** Without the admin flag, the answer is the same whether a user exists or not. */
  const find = (scope: Scope, names: UserPath) => {
    requireSelf(scope, names.user, 'name');
    return userOf(ctx.db, scope, names);
  };
  const present = async (db: Reader, account_id: number, users: readonly User[]) => {
    const now = ctx.clock.now();
    const [factsOf, limitsOf, periodOf] = await Promise.all([
      signInFacts(db, users, now),
      limitsOfUsers(db, users),
      periodOfUsers(db, account_id, users, now),
    ]);
    return users.map((user) => ({
      ...presentUser(user),
      limits: limitsOf(user),
      period: periodOf(user),
      over_limit: user.over_limit === 1,
      sign_in: factsOf(user),
    }));
  };
  const presentOne = async (user: User) => (await present(ctx.db, user.account_id, [user]))[0];

  route('GET /users', {
    may: adminsAndSelf,
    summary: 'The users of the account, inactive ones too',
    description:
      'For a person without the admin flag: oneself alone. With a limit: a page of them, sorted and filtered.',
    query: Query,
    answer: Type.Array(UserSigningIn),
    handle: async ({ scope: { account_id, only_user }, query }, reply) => {
      const page = pageIn(query);
      if (page) {
        const pageFilter = { ...filterIn(query), state: query.state, flag: query.flag };
        const of = only_user?.id ?? 0;
        const slices = (db: Reader) =>
          userPageSlices(db, account_id, of, pageFilter, page, ctx.clock.now());
        return present(ctx.db, account_id, await readPage(mount, reply, account_id, page, slices));
      }
      if (only_user) {
        return [await presentOne(await requireUserNamed(ctx.db, account_id, only_user.name))];
      }
      async function* read(db: Reader): AsyncGenerator<Part, void, void> {
        for await (const { isLast, users } of userSlices(db, account_id)) {
          yield { values: await present(db, account_id, users), isLast, valid_until: never };
        }
      }
      return listOf(account_id, 'users', read);
    },
  });

  route('POST /users', {
    may: ['admin'],
    summary: 'Add an active user',
    body: NewUser,
    created: UserSigningIn,
    errors: [409],
    handle: async (request) => {
      const user = await write(request, async (tx, { account_id }) =>
        createUser(tx, await requireAccount(tx, account_id), request.body, ctx.config.max_users),
      );
      const location = `${request.scope.path}/users/${user.name}`;
      return created(location, await presentOne(user));
    },
  });

  route('GET /users/:user', {
    may: adminsAndSelf,
    find,
    summary: 'One user',
    params: UserPath,
    answer: UserSigningIn,
    handle: async ({ scope, params }) => presentOne(await userOf(ctx.db, scope, params)),
  });

  route('PATCH /users/:user', {
    may: ['admin'],
    find: (scope, names) => userOf(ctx.db, scope, names),
    summary: 'Change a user',
    description: audience.keeps_an_admin
      ? 'Users are never deleted, only made inactive. One active user with the admin flag must be left. Making somebody an active admin asks for your password again.'
      : 'Users are never deleted, only made inactive, which ends their sessions, invitations and sign-in links.',
    params: UserPath,
    body: confirmPassword ? ConfirmedChanges : Changes,
    answer: UserSigningIn,
    statuses: confirmPassword && passwordErrors(noAdminLeft),
    handle: async (request) => {
      const { password, ...changes } = request.body as Static<typeof ConfirmedChanges>;
      requireChange(changes);
      if (password !== undefined) await confirmPassword?.(request, password);
      const user = await write(request, async (tx, now) => {
        const before = await userOf(tx, now, request.params);
        return changeAs(audience, tx, before, changes, password !== undefined);
      });
      return presentOne(user);
    },
  });

  route('POST /users/:user/token_version', {
    may: adminsAndSelf,
    find,
    id: 'raise_token_version',
    summary: 'Raise token_version: ends all proxy access tokens of the user',
    description: 'For a person without the admin flag: of oneself alone.',
    params: UserPath,
    answer: UserSigningIn,
    handle: async (request) => {
      const user = await write(request, async (tx, scope) => {
        requireSelf(scope, request.params.user, 'name');
        return raiseTokenVersion(tx, await userOf(tx, scope, request.params));
      });
      return presentOne(user);
    },
  });
}
