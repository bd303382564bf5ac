// …/tokens: the API tokens of an account.
import { type Static, Type } from 'typebox';
import { requireAccount } from '../../accounts/accounts.ts';
import {
  type ApiToken,
  createApiToken,
  listApiTokens,
  removeApiToken,
  removeApiTokens,
  requireApiToken,
  tokenPageSlices,
  tokenSorts,
  tokenStates,
  viewApiToken,
} from '../../api_tokens/api_tokens.ts';
import type { Reader } from '../../db/database.ts';
import { invalidField } from '../../errors.ts';
import { Digits, Integer, idOf, Named, OneOf, Strict, Text, Timestamp } from '../../http/fields.ts';
import { created } from '../../http/route.ts';
import { Ids, oneIsMissing, Revoked } from '../at_once.ts';
import { EndsBefore, filterIn, listQuery, pageIn, readPage } from '../list_pages.ts';
import type { Mount } from './mount.ts';
import type { Scope } from './scope.ts';
import { Confirmation, GivenPassword, passwordErrors } from './sign_in_fields.ts';

const tokenFields = {
  id: Integer('Names it in paths.', 1),
  name: Type.String({ description: 'Name of the token.' }),
  read_only: Type.Boolean({ description: 'Whether it only reads.' }),
  expiry: Type.Union([Timestamp('Epoch seconds.'), Type.Null()], { description: 'Null: never.' }),
  viewable: Type.Boolean({ description: 'Whether its text is kept and can be viewed.' }),
  created_at: Timestamp('When it was created.'),
  last_used_at: Type.Union([Timestamp('Epoch seconds.'), Type.Null()], {
    description: 'Its last use; null before the first.',
  }),
};
const Token = Named('AccountToken', tokenFields);
const Shown = Type.String({ description: 'The API token (ewa_…).' });
const CreatedToken = Named('CreatedAccountToken', { ...tokenFields, api_token: Shown });
const ViewedToken = Named('ViewedToken', { api_token: Shown });
const NewToken = Named('NewAccountToken', {
  name: Text('Name of the token.', 64),
  read_only: Type.Optional(
    Type.Boolean({ description: 'Whether it only reads; full by default.' }),
  ),
  expiry: Type.Optional(Integer('When it ends, epoch seconds; at most 10 years from now.')),
});
const ConfirmedToken = Named('NewOwnToken', {
  ...NewToken.properties,
  password: Type.Optional(
    GivenPassword('Your password: needed for a token that is not read-only.'),
  ),
});
const Query = Strict(
  listQuery(tokenSorts, {
    ...EndsBefore,
    state: Type.Optional(
      OneOf(
        [...tokenStates],
        'Only tokens that are accepted, that have expired, or that were never used.',
      ),
    ),
  }),
);
const TokenPath = Type.Object({ id: Digits('Id of the API token.', 1) });

function presentToken(token: ApiToken) {
  const { id, name, read_only, expiry, sealed, created_at, last_used_at } = token;
  const viewable = sealed !== null;
  return { id, name, read_only: read_only === 1, expiry, viewable, created_at, last_used_at };
}

export function tokenRoutes(mount: Mount): void {
  const { ctx, audience, routesOf, write } = mount;
  const route = routesOf('tokens');
  const may = ['admin'] as const;
  const { confirmPassword } = audience;
  const viewable = ctx.config.api_tokens === 'viewable';
  const { max_api_tokens } = ctx.config;
  const find = ({ account_id }: Scope, { id }: { id: string }) =>
    requireApiToken(ctx.db, account_id, idOf(id));

  route('GET /tokens', {
    may,
    summary: 'The API tokens of the account',
    description: 'With a limit: a page of them, sorted and filtered.',
    query: Query,
    answer: Type.Array(Token),
    handle: async ({ scope: { account_id }, query }, reply) => {
      const page = pageIn(query);
      if (!page) return (await listApiTokens(ctx.db, account_id)).map(presentToken);
      const filter = { ...filterIn(query), state: query.state };
      const slices = (db: Reader) => tokenPageSlices(db, account_id, filter, page, ctx.clock.now());
      return (await readPage(mount, reply, account_id, page, slices)).map(presentToken);
    },
  });

  route('POST /tokens', {
    may,
    summary: 'Create an API token',
    ...(confirmPassword
      ? { description: 'Asks for your password again, except for a read-only one.' }
      : {}),
    body: confirmPassword ? ConfirmedToken : NewToken,
    created: CreatedToken,
    errors: [409],
    statuses:
      confirmPassword && passwordErrors('The name is taken; or the person has no password yet.'),
    handle: async (request) => {
      const { password, ...given } = request.body as Static<typeof ConfirmedToken>;
      if (confirmPassword && given.read_only !== true) {
        if (password === undefined) {
          throw invalidField(
            'password',
            'is missing; it is needed for a token that is not read-only.',
          );
        }
        await confirmPassword(request, password);
      }
      const { token, text } = await write(request, async (tx, { account_id }) => {
        const account = await requireAccount(tx, account_id);
        return createApiToken(tx, ctx.secrets, viewable, account, given, max_api_tokens);
      });
      const value = { ...presentToken(token), api_token: text };
      return created(`${request.scope.path}/tokens/${token.id}`, value);
    },
  });

  route('DELETE /tokens/:id', {
    may,
    find,
    summary: 'Revoke an API token',
    params: TokenPath,
    handle: (request) =>
      write(request, async (tx, { account_id }) =>
        removeApiToken(tx, await requireAccount(tx, account_id), idOf(request.params.id)),
      ),
  });

  route('POST /tokens/remove', {
    may,
    id: 'revoke_tokens',
    summary: 'Revoke API tokens, all or none',
    body: Ids,
    answer: Revoked,
    statuses: { 404: oneIsMissing('tokens') },
    handle: async (request) => {
      const { ids } = request.body;
      await write(
        request,
        async (tx, { account_id }) =>
          removeApiTokens(tx, await requireAccount(tx, account_id), ids),
        ids.length,
      );
      return { revoked: ids.length };
    },
  });

  route('POST /tokens/:id/view', {
    may,
    find,
    id: 'view_token',
    summary: 'View the text of an API token',
    description: confirmPassword
      ? 'Asks for your password again; the audit log keeps who looked.'
      : 'The audit log keeps who looked. 409 where tokens are shown only once.',
    params: TokenPath,
    ...(confirmPassword ? { body: Confirmation } : {}),
    answer: ViewedToken,
    errors: [409],
    statuses:
      confirmPassword &&
      passwordErrors('The person has no password yet; or the token was shown only once.'),
    handle: async (request) => {
      await confirmPassword?.(request, (request.body as Static<typeof Confirmation>).password);
      const api_token = await write(request, async (tx, { account_id }) =>
        viewApiToken(
          tx,
          ctx.secrets,
          await requireAccount(tx, account_id),
          idOf(request.params.id),
        ),
      );
      return { api_token };
    },
  });
}
