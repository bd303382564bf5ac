// /console/users and /console/proxy-tokens: the users of the account, and proxy access tokens for them.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { type Static, Type } from 'typebox';
import { requireAccount, requireWritable } from '../../accounts/accounts.ts';
import type { Context } from '../../context.ts';
import type { Reader } from '../../db/database.ts';
import { forbidden } from '../../errors.ts';
import { errors, Integer, Strict, Text, Timestamp } from '../../http/fields.ts';
import { requireChange, sendCreated, sendJson } from '../../http/responses.ts';
import {
  changeUserOfAccount,
  createProxyToken,
  createUser,
  listUsers,
  raiseTokenVersion,
  requireUserNamed,
  type User,
} from '../../users/users.ts';
import { presentUser, ten_years_seconds, UserRecord } from '../account/users.ts';
import {
  consoleWrite,
  type Person,
  revokeSessions,
  type SignInFacts,
  signInFacts,
} from './checks.ts';
import { NewUser, UserChanges } from './users_operator.ts';

const Moment = (description: string) =>
  Type.Union([Integer('Epoch seconds.'), Type.Null()], { description });
const UserWithSignIn = Strict({
  ...UserRecord.properties,
  sign_in: Strict(
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
const NewProxyToken = Strict({
  user: Text('User name. The user must have the proxy flag.'),
  lifetime_seconds: Type.Optional(
    Integer('Token lifetime; the contract default when omitted.', 1, ten_years_seconds),
  ),
});
const ProxyToken = Strict({
  token: Type.String({ description: 'Proxy access token (ewt_…), shown only here.' }),
  user: Type.String({ description: 'Its user: the username that goes with it.' }),
  expiry: Timestamp('When it ends.'),
});

const UserPath = Type.Object({ user: Type.String({ description: 'User name.' }) });
type UserPath = Static<typeof UserPath>;

const never: SignInFacts = {
  has_password: false,
  second_factor: false,
  invited_until: null,
  last_sign_in_at: null,
  sessions: 0,
};

/** Errors: 403 when a person without the admin flag names somebody else. */
function requireSelf({ flags, user_name }: Person, user: string): void {
  if (flags.admin || user === user_name) return;
  throw forbidden(
    `you may name yourself alone, ${JSON.stringify(user_name)}; ask an admin of your account.`,
    { field: 'user' },
  );
}

export function userConsoleRoutes(app: FastifyInstance, ctx: Context): void {
  const tags = ['Console: users'];
  const admins = { may: ['admin'] } as const;
  const adminsAndSelf = { may: ['admin', 'proxy'] } as const;
  const userOf = (db: Reader, request: FastifyRequest) =>
    requireUserNamed(db, request.person.account_id, (request.params as UserPath).user);
  /** Who is no admin hears the same of users that are there and of others. */
  const find = (request: FastifyRequest) => {
    requireSelf(request.person, (request.params as UserPath).user);
    return userOf(ctx.db, request);
  };
  const shown = async (person: Person, users: User[]) => {
    const facts = await signInFacts(ctx.db, person.account_id, ctx.clock.now());
    return users.map((user) => ({ ...presentUser(user), sign_in: facts.get(user.id) ?? never }));
  };

  app.get(
    '/console/users',
    {
      config: { console: adminsAndSelf },
      schema: {
        summary: 'The users of the account, inactive ones too',
        description: 'Without the admin flag: oneself alone.',
        tags,
        response: { 200: Type.Array(UserWithSignIn), ...errors(400, 401, 403) },
      },
    },
    async (request, reply) => {
      const { person } = request;
      const users = await listUsers(ctx.db, person.account_id);
      const seen = users.filter(({ id }) => person.flags.admin || id === person.user_id);
      return sendJson(reply, await shown(person, seen));
    },
  );

  app.post<{ Body: Static<typeof NewUser> }>(
    '/console/users',
    {
      config: { console: admins },
      schema: {
        summary: 'Add an active user',
        tags,
        body: NewUser,
        response: { 201: UserWithSignIn, ...errors(400, 401, 403, 409) },
      },
    },
    async (request, reply) => {
      const { person, body } = request;
      const user = await consoleWrite(ctx, request, async (tx) =>
        createUser(tx, await requireAccount(tx, person.account_id), body),
      );
      const [value] = await shown(person, [user]);
      return sendCreated(reply, `/console/users/${user.name}`, value);
    },
  );

  app.patch<{ Params: UserPath; Body: Static<typeof UserChanges> }>(
    '/console/users/:user',
    {
      config: { console: admins, find },
      schema: {
        summary: 'Change a user',
        description:
          'Users are never deleted, only made inactive. One active user with the admin flag must be left.',
        tags,
        params: UserPath,
        body: UserChanges,
        response: { 200: UserWithSignIn, ...errors(400, 401, 403, 404, 409) },
      },
    },
    async (request, reply) => {
      requireChange(request.body);
      const user = await consoleWrite(ctx, request, async (tx) =>
        changeUserOfAccount(tx, await userOf(tx, request), request.body, revokeSessions),
      );
      const [value] = await shown(request.person, [user]);
      return sendJson(reply, value);
    },
  );

  app.post<{ Params: UserPath }>(
    '/console/users/:user/token_version',
    {
      config: { console: adminsAndSelf, find },
      schema: {
        summary: 'Raise token_version: ends all proxy access tokens of the user',
        description: 'Without the admin flag: of oneself alone.',
        tags,
        params: UserPath,
        response: { 200: UserWithSignIn, ...errors(400, 401, 403, 404) },
      },
    },
    async (request, reply) => {
      const user = await consoleWrite(ctx, request, async (tx, person) => {
        requireSelf(person, request.params.user);
        return raiseTokenVersion(tx, await userOf(tx, request));
      });
      const [value] = await shown(request.person, [user]);
      return sendJson(reply, value);
    },
  );

  app.post<{ Body: Static<typeof NewProxyToken> }>(
    '/console/proxy-tokens',
    {
      config: { console: { ...adminsAndSelf, record: true } },
      schema: {
        summary: 'Create a proxy access token',
        description: 'Without the admin flag: for oneself alone.',
        tags,
        body: NewProxyToken,
        response: { 201: ProxyToken, ...errors(400, 401, 403, 409) },
      },
    },
    async (request, reply) => {
      const { user, lifetime_seconds } = request.body;
      const token = await consoleWrite(ctx, request, async (tx, person) => {
        requireSelf(person, user);
        const account = await requireWritable(tx, person.account_id);
        return createProxyToken(tx, ctx.secrets, account, user, lifetime_seconds);
      });
      return sendCreated(reply, `/console/users/${token.user}`, token);
    },
  );
}
