// /admin/accounts/{account}/users: the users of an account.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { type Static, Type } from 'typebox';
import { requireAccountNamed } from '../../accounts/accounts.ts';
import type { Context } from '../../context.ts';
import type { Reader } from '../../db/database.ts';
import { errors, Name, Strict, Text } from '../../http/fields.ts';
import { requireChange, sendCreated, sendJson } from '../../http/responses.ts';
import {
  changeUser,
  createUser,
  listUsers,
  raiseTokenVersion,
  requireUserNamed,
} from '../../users/users.ts';
import { presentUser, UserRecord } from '../account/users.ts';
import { AccountPath, findAccount, operatorWrite } from '../operator/checks.ts';
import { revokeSessions } from './checks.ts';

const DisplayName = Text('Descriptive name.', 128);
const Flags = Strict(
  {
    proxy: Type.Optional(Type.Boolean({ description: 'May use the proxy network.' })),
    billing: Type.Optional(Type.Boolean({ description: 'May see billing.' })),
    admin: Type.Optional(Type.Boolean({ description: 'May administer the account.' })),
  },
  'Permissions; those left out are off for a new user, and stay as they are on a change.',
);
export const NewUser = Strict({
  name: Name('Username the user authenticates with; it stays.'),
  display_name: Type.Optional(DisplayName),
  flags: Type.Optional(Flags),
});
export const UserChanges = Strict({
  display_name: Type.Optional(DisplayName),
  active: Type.Optional(Type.Boolean({ description: 'Whether the user is enabled.' })),
  flags: Type.Optional(Flags),
});

const UserPath = Type.Object({
  account: Type.String({ description: 'Account name.' }),
  user: Type.String({ description: 'User name.' }),
});
type UserPath = Static<typeof UserPath>;

/** The user that a path names. Errors: 404. */
async function userOf(db: Reader, path: UserPath) {
  const account = await requireAccountNamed(db, path.account);
  return requireUserNamed(db, account.id, path.user);
}

export function userAdminRoutes(app: FastifyInstance, ctx: Context): void {
  const tags = ['Operator: users'];
  const find = (request: FastifyRequest) => userOf(ctx.db, request.params as UserPath);

  app.get<{ Params: AccountPath }>(
    '/admin/accounts/:account/users',
    {
      schema: {
        summary: 'List the users of an account, inactive ones too',
        tags,
        params: AccountPath,
        response: { 200: Type.Array(UserRecord), ...errors(400, 401, 404) },
      },
    },
    async (request, reply) => {
      const account = await requireAccountNamed(ctx.db, request.params.account);
      return sendJson(reply, (await listUsers(ctx.db, account.id)).map(presentUser));
    },
  );

  app.post<{ Params: AccountPath; Body: Static<typeof NewUser> }>(
    '/admin/accounts/:account/users',
    {
      config: { find: findAccount(ctx) },
      schema: {
        summary: 'Add an active user to an account',
        tags,
        params: AccountPath,
        body: NewUser,
        response: { 201: UserRecord, ...errors(400, 401, 404, 409) },
      },
    },
    async (request, reply) => {
      const user = await operatorWrite(ctx, request, async (tx) =>
        createUser(tx, await requireAccountNamed(tx, request.params.account), request.body),
      );
      const location = `/admin/accounts/${request.params.account}/users/${user.name}`;
      return sendCreated(reply, location, presentUser(user));
    },
  );

  app.get<{ Params: UserPath }>(
    '/admin/accounts/:account/users/:user',
    {
      schema: {
        summary: 'One user',
        tags,
        params: UserPath,
        response: { 200: UserRecord, ...errors(400, 401, 404) },
      },
    },
    async (request, reply) => sendJson(reply, presentUser(await userOf(ctx.db, request.params))),
  );

  app.patch<{ Params: UserPath; Body: Static<typeof UserChanges> }>(
    '/admin/accounts/:account/users/:user',
    {
      config: { find },
      schema: {
        summary: 'Change a user',
        description:
          'Users are never deleted, only made inactive, which ends their sessions, invitations and sign-in links.',
        tags,
        params: UserPath,
        body: UserChanges,
        response: { 200: UserRecord, ...errors(400, 401, 404) },
      },
    },
    async (request, reply) => {
      requireChange(request.body);
      const user = await operatorWrite(ctx, request, async (tx) =>
        changeUser(tx, await userOf(tx, request.params), request.body, revokeSessions),
      );
      return sendJson(reply, presentUser(user));
    },
  );

  app.post<{ Params: UserPath }>(
    '/admin/accounts/:account/users/:user/token_version',
    {
      schema: {
        summary: 'Raise token_version: ends all proxy access tokens of the user',
        tags,
        params: UserPath,
        response: { 200: UserRecord, ...errors(400, 401, 404) },
      },
    },
    async (request, reply) => {
      const user = await operatorWrite(ctx, request, async (tx) =>
        raiseTokenVersion(tx, await userOf(tx, request.params)),
      );
      return sendJson(reply, presentUser(user));
    },
  );
}
