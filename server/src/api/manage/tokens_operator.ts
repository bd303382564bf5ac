// /admin/accounts/{account}/tokens: the API tokens that open an account.
import type { FastifyInstance } from 'fastify';
import { type Static, Type } from 'typebox';
import {
  type ApiToken,
  createApiToken,
  listApiTokens,
  removeApiToken,
  requireAccountNamed,
  viewApiToken,
  withoutSecrets,
} from '../../accounts/accounts.ts';
import type { Context } from '../../context.ts';
import {
  checkExpiry,
  errors,
  Integer,
  idOf,
  NoContent,
  Strict,
  Text,
  Timestamp,
} from '../../http/fields.ts';
import { sendCreated, sendJson, sendNothing } from '../../http/responses.ts';
import { AccountPath, findAccount, operatorWrite } from '../operator/checks.ts';

const tokenFields = {
  id: Integer('Names it in paths.', 1),
  name: Type.String({ description: 'Name of the token.' }),
  read_only: Type.Boolean({ description: 'Whether it only reads.' }),
  expiry: Type.Union([Integer('Epoch seconds.'), Type.Null()], { description: 'Null: never.' }),
  viewable: Type.Boolean({ description: 'Whether its text is kept and can be viewed.' }),
  created_at: Timestamp('When it was created.'),
  last_used_at: Type.Union([Integer('Epoch seconds.'), Type.Null()], {
    description: 'Its last use; null before the first.',
  }),
};
export const Token = Strict(tokenFields);
const Shown = Type.String({ description: 'The API token (ewa_…).' });
export const CreatedToken = Strict({ ...tokenFields, api_token: Shown });
export const ViewedToken = Strict({ api_token: Shown });
export const NewToken = Strict({
  name: Text('Name of the token.', 64),
  read_only: Type.Optional(
    Type.Boolean({ description: 'Whether it only reads; full by default.' }),
  ),
  expiry: Type.Optional(Integer('When it ends, epoch seconds; at most 10 years from now.')),
});

const TokenPath = Type.Object({
  account: Type.String({ description: 'Account name.' }),
  id: Type.String({ description: 'Id of the API token.' }),
});
type TokenPath = Static<typeof TokenPath>;

export function presentToken(token: ApiToken) {
  const { account_id: _, read_only, ...shown } = withoutSecrets(token);
  return { ...shown, read_only: read_only === 1 };
}

export function apiTokenAdminRoutes(app: FastifyInstance, ctx: Context): void {
  const tags = ['Operator: API tokens'];
  const viewable = ctx.config.api_tokens === 'viewable';

  app.get<{ Params: AccountPath }>(
    '/admin/accounts/:account/tokens',
    {
      schema: {
        summary: 'List the API tokens of an account',
        tags,
        params: AccountPath,
        response: { 200: Type.Array(Token), ...errors(400, 401, 404) },
      },
    },
    async (request, reply) => {
      const account = await requireAccountNamed(ctx.db, request.params.account);
      return sendJson(reply, (await listApiTokens(ctx.db, account.id)).map(presentToken));
    },
  );

  app.post<{ Params: AccountPath; Body: Static<typeof NewToken> }>(
    '/admin/accounts/:account/tokens',
    {
      config: { find: findAccount(ctx) },
      schema: {
        summary: 'Create an API token for an account',
        tags,
        params: AccountPath,
        body: NewToken,
        response: { 201: CreatedToken, ...errors(400, 401, 404, 409) },
      },
    },
    async (request, reply) => {
      const { token, text } = await operatorWrite(ctx, request, async (tx) => {
        if (request.body.expiry !== undefined) checkExpiry(request.body.expiry, tx.now);
        const account = await requireAccountNamed(tx, request.params.account);
        return createApiToken(tx, ctx.secrets, viewable, account, request.body);
      });
      const location = `/admin/accounts/${request.params.account}/tokens/${token.id}`;
      return sendCreated(reply, location, { ...presentToken(token), api_token: text });
    },
  );

  app.delete<{ Params: TokenPath }>(
    '/admin/accounts/:account/tokens/:id',
    {
      schema: {
        summary: 'Revoke an API token',
        tags,
        params: TokenPath,
        response: { 204: NoContent, ...errors(400, 401, 404) },
      },
    },
    async (request, reply) => {
      await operatorWrite(ctx, request, async (tx) => {
        const account = await requireAccountNamed(tx, request.params.account);
        await removeApiToken(tx, account, idOf(request.params.id));
      });
      return sendNothing(reply);
    },
  );

  app.post<{ Params: TokenPath }>(
    '/admin/accounts/:account/tokens/:id/view',
    {
      schema: {
        summary: 'View the text of an API token',
        description: 'The audit log keeps who looked. 409 where tokens are shown only once.',
        tags,
        params: TokenPath,
        response: { 200: ViewedToken, ...errors(400, 401, 404, 409) },
      },
    },
    async (request, reply) => {
      const api_token = await operatorWrite(ctx, request, async (tx) => {
        const account = await requireAccountNamed(tx, request.params.account);
        return viewApiToken(tx, ctx.secrets, account, idOf(request.params.id));
      });
      return sendJson(reply, { api_token });
    },
  );
}
