// /console/tokens: the API tokens of an account, for its admins.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { type Static, Type } from 'typebox';
import {
  createApiToken,
  listApiTokens,
  removeApiToken,
  requireAccount,
  requireApiToken,
  viewApiToken,
} from '../../accounts/accounts.ts';
import type { Context } from '../../context.ts';
import { checkExpiry, errors, IdPath, idOf, NoContent, Strict, Text } from '../../http/fields.ts';
import { sendCreated, sendJson, sendNothing } from '../../http/responses.ts';
import { consoleWrite, requirePassword } from './checks.ts';
import { CreatedToken, NewToken, presentToken, Token, ViewedToken } from './tokens_operator.ts';

const Confirmed = Strict({ password: Text('The password, asked anew.', 800) });

export function apiTokenConsoleRoutes(app: FastifyInstance, ctx: Context): void {
  const tags = ['Console: API tokens'];
  const access = { may: ['admin'] } as const;
  const viewable = ctx.config.api_tokens === 'viewable';
  const find = (request: FastifyRequest) =>
    requireApiToken(ctx.db, request.person.account_id, idOf((request.params as IdPath).id));

  app.get(
    '/console/tokens',
    {
      config: { console: access },
      schema: {
        summary: 'The API tokens of the account',
        tags,
        response: { 200: Type.Array(Token), ...errors(400, 401, 403) },
      },
    },
    async (request, reply) =>
      sendJson(reply, (await listApiTokens(ctx.db, request.person.account_id)).map(presentToken)),
  );

  app.post<{ Body: Static<typeof NewToken> }>(
    '/console/tokens',
    {
      config: { console: access },
      schema: {
        summary: 'Create an API token',
        tags,
        body: NewToken,
        response: { 201: CreatedToken, ...errors(400, 401, 403, 409) },
      },
    },
    async (request, reply) => {
      const { token, text } = await consoleWrite(ctx, request, async (tx) => {
        if (request.body.expiry !== undefined) checkExpiry(request.body.expiry, tx.now);
        const account = await requireAccount(tx, request.person.account_id);
        return createApiToken(tx, ctx.secrets, viewable, account, request.body);
      });
      const value = { ...presentToken(token), api_token: text };
      return sendCreated(reply, `/console/tokens/${token.id}`, value);
    },
  );

  app.delete<{ Params: IdPath }>(
    '/console/tokens/:id',
    {
      config: { console: access, find },
      schema: {
        summary: 'Revoke an API token',
        tags,
        params: IdPath,
        response: { 204: NoContent, ...errors(400, 401, 403, 404) },
      },
    },
    async (request, reply) => {
      await consoleWrite(ctx, request, async (tx) => {
        const account = await requireAccount(tx, request.person.account_id);
        await removeApiToken(tx, account, idOf(request.params.id));
      });
      return sendNothing(reply);
    },
  );

  app.post<{ Params: IdPath; Body: Static<typeof Confirmed> }>(
    '/console/tokens/:id/view',
    {
      config: { console: access, find },
      schema: {
        summary: 'View the text of an API token',
        description: 'Asks for your password anew; the audit log keeps who looked.',
        tags,
        params: IdPath,
        body: Confirmed,
        response: { 200: ViewedToken, ...errors(400, 401, 403, 404, 409, 429) },
      },
    },
    async (request, reply) => {
      await requirePassword(ctx, request, request.body.password);
      const api_token = await consoleWrite(ctx, request, async (tx) => {
        const account = await requireAccount(tx, request.person.account_id);
        return viewApiToken(tx, ctx.secrets, account, idOf(request.params.id));
      });
      return sendJson(reply, { api_token });
    },
  );
}
