// /console/users/{user}: how the account's admins let others sign in, and take it back.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { type Static, Type } from 'typebox';
import type { Context } from '../../context.ts';
import type { Reader } from '../../db/database.ts';
import { errors, NoContent } from '../../http/fields.ts';
import { sendCreated, sendNothing } from '../../http/responses.ts';
import { createInvite, endSessionsOf, resetSignIn } from '../../sign_in/sign_in.ts';
import { requireUserNamed } from '../../users/users.ts';
import { consoleWrite, requireFlags } from './checks.ts';
import { OneTimeCodeRecord, presentCode } from './sign_in_fields.ts';

const UserPath = Type.Object({ user: Type.String({ description: 'User name.' }) });
type UserPath = Static<typeof UserPath>;

export function userSignInRoutes(app: FastifyInstance, ctx: Context): void {
  const tags = ['Console: users'];
  const userOf = (db: Reader, request: FastifyRequest) =>
    requireUserNamed(db, request.person.account_id, (request.params as UserPath).user);
  const access = { may: ['admin'] } as const;
  /** Who is no admin hears the same of users that are there and of others. */
  const find = (request: FastifyRequest) => {
    requireFlags(request.person, access.may);
    return userOf(ctx.db, request);
  };
  const config = { console: access, find };

  app.post<{ Params: UserPath }>(
    '/console/users/:user/invite',
    {
      config,
      schema: {
        summary: 'Invite a user to set a password; the invitation before it ends',
        tags,
        params: UserPath,
        response: { 201: OneTimeCodeRecord, ...errors(400, 401, 403, 404, 409) },
      },
    },
    async (request, reply) => {
      const invite = await consoleWrite(ctx, request, async (tx) =>
        createInvite(tx, ctx.secrets, await userOf(tx, request)),
      );
      return sendCreated(reply, '/console/users', presentCode(invite, ctx.config.public_url));
    },
  );

  app.delete<{ Params: UserPath }>(
    '/console/users/:user/sign-in',
    {
      config,
      schema: {
        summary: 'Take password, second factor and invitation of a user, and end the sessions',
        tags,
        params: UserPath,
        response: { 204: NoContent, ...errors(400, 401, 403, 404) },
      },
    },
    async (request, reply) => {
      await consoleWrite(ctx, request, async (tx) => resetSignIn(tx, await userOf(tx, request)));
      return sendNothing(reply);
    },
  );

  app.delete<{ Params: UserPath }>(
    '/console/users/:user/sessions',
    {
      config,
      schema: {
        summary: 'End all sessions of a user',
        tags,
        params: UserPath,
        response: { 204: NoContent, ...errors(400, 401, 403, 404) },
      },
    },
    async (request, reply) => {
      await consoleWrite(ctx, request, async (tx) => endSessionsOf(tx, await userOf(tx, request)));
      return sendNothing(reply);
    },
  );
}
