// /admin/accounts/{account}/users/{user}: how operators let users sign in to the console, and take it back.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { type Static, Type } from 'typebox';
import { requireAccountNamed } from '../../accounts/accounts.ts';
import type { Context } from '../../context.ts';
import type { Reader } from '../../db/database.ts';
import { errors, Integer, NoContent, Strict } from '../../http/fields.ts';
import { sendCreated, sendNothing } from '../../http/responses.ts';
import {
  createInvite,
  createSignInLink,
  type OneTimeCode,
  resetSignIn,
} from '../../sign_in/sign_in.ts';
import { requireUserNamed } from '../../users/users.ts';
import { operatorWrite } from '../operator/checks.ts';
import { OneTimeCodeRecord, presentCode } from './sign_in_fields.ts';

const NewLink = Strict({
  lifetime_seconds: Type.Optional(
    Integer('How long the link can be used; 900 when omitted.', 1, 86_400),
  ),
});

const UserPath = Type.Object({
  account: Type.String({ description: 'Account name.' }),
  user: Type.String({ description: 'User name.' }),
});
type UserPath = Static<typeof UserPath>;

export function signInAdminRoutes(app: FastifyInstance, ctx: Context): void {
  const tags = ['Operator: users'];
  const userOf = async (db: Reader, request: FastifyRequest) => {
    const { account, user } = request.params as UserPath;
    return requireUserNamed(db, (await requireAccountNamed(db, account)).id, user);
  };
  const config = { find: (request: FastifyRequest) => userOf(ctx.db, request) };
  const present = (code: OneTimeCode) => presentCode(code, ctx.config.public_url);
  const locationOf = ({ account, user }: UserPath) => `/admin/accounts/${account}/users/${user}`;

  app.post<{ Params: UserPath }>(
    '/admin/accounts/:account/users/:user/invite',
    {
      config,
      schema: {
        summary: 'Invite a user to the console; the invitation before it ends',
        tags,
        params: UserPath,
        response: { 201: OneTimeCodeRecord, ...errors(400, 401, 404, 409) },
      },
    },
    async (request, reply) => {
      const invite = await operatorWrite(ctx, request, async (tx) =>
        createInvite(tx, ctx.secrets, await userOf(tx, request)),
      );
      return sendCreated(reply, locationOf(request.params), present(invite));
    },
  );

  app.post<{ Params: UserPath; Body: Static<typeof NewLink> }>(
    '/admin/accounts/:account/users/:user/sign-in-link',
    {
      config,
      schema: {
        summary: 'Make a link that signs in to the console as the user, once',
        tags,
        params: UserPath,
        body: NewLink,
        response: { 201: OneTimeCodeRecord, ...errors(400, 401, 404, 409) },
      },
    },
    async (request, reply) => {
      const { lifetime_seconds } = request.body;
      const link = await operatorWrite(ctx, request, async (tx) =>
        createSignInLink(tx, ctx.secrets, await userOf(tx, request), lifetime_seconds),
      );
      return sendCreated(reply, locationOf(request.params), present(link));
    },
  );

  app.delete<{ Params: UserPath }>(
    '/admin/accounts/:account/users/:user/sign-in',
    {
      config,
      schema: {
        summary: 'Take password, second factor and codes of a user, and end the sessions',
        tags,
        params: UserPath,
        response: { 204: NoContent, ...errors(400, 401, 404) },
      },
    },
    async (request, reply) => {
      await operatorWrite(ctx, request, async (tx) => resetSignIn(tx, await userOf(tx, request)));
      return sendNothing(reply);
    },
  );
}
