// /admin/tokens: the tokens of operators.
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import type { Context } from '../../context.ts';
import type { Reader } from '../../db/database.ts';
import { Digits, Integer, idOf, Name, Named, OneOf, Strict, Timestamp } from '../../http/fields.ts';
import { created } from '../../http/route.ts';
import {
  createOperatorToken,
  listOperatorTokens,
  type Operator,
  operatorTokenPageSlices,
  operatorTokenSorts,
  operatorTokenStates,
  removeOperatorToken,
  removeOperatorTokens,
} from '../../operators/operators.ts';
import { Ids, oneIsMissing, Revoked } from '../at_once.ts';
import { filterIn, listQuery, pageIn, readPage } from '../list_pages.ts';
import { LongReads } from '../long_reads.ts';
import { operatorWrite } from './checks.ts';
import { operatorRoute } from './route.ts';

const tokenFields = {
  id: Integer('Names it in paths.', 1),
  name: Type.String({ description: 'Who holds it; the actor in the audit log.' }),
  created_at: Timestamp('When it was created.'),
  last_used_at: Type.Union([Timestamp('Epoch seconds.'), Type.Null()], {
    description: 'Its last use, to the minute; null before the first.',
  }),
  may_find_connections: Type.Boolean({
    description: 'Whether its holder may ask who used an exit.',
  }),
};
const Token = Named('OperatorToken', tokenFields);
const CreatedToken = Named('CreatedOperatorToken', {
  ...tokenFields,
  admin_token: Type.String({ description: 'The token (ewo_…), shown only here.' }),
});
const NewToken = Named('NewOperatorToken', {
  name: Name('Who will hold it.'),
  may_find_connections: Type.Optional(
    Type.Boolean({ description: 'Whether they may ask who used an exit; not when left out.' }),
  ),
});

const Query = Strict(
  listQuery(operatorTokenSorts, {
    state: Type.Optional(
      OneOf([...operatorTokenStates], 'Only tokens that were used, or that were never.'),
    ),
  }),
);

function presentToken({ id, name, created_at, last_used_at, ...rights }: Operator) {
  const may_find_connections = rights.may_find_connections === 1;
  return { id, name, created_at, last_used_at, may_find_connections };
}

const TokenPath = Type.Object({ id: Digits('Id of the operator token.', 1) });

export function operatorTokenRoutes(app: FastifyInstance, ctx: Context): void {
  const route = operatorRoute(app, 'Operator: operator tokens');
  const longReads = new LongReads(ctx.db);

  route('GET /admin/tokens', {
    summary: 'List operator tokens',
    description: 'With a limit: a page of them, sorted and filtered.',
    query: Query,
    answer: Type.Array(Token),
    handle: async ({ query }, reply) => {
      const page = pageIn(query);
      if (!page) return (await listOperatorTokens(ctx.db)).map(presentToken);
      const filter = { search: filterIn(query).search, state: query.state };
      const slices = (db: Reader) => operatorTokenPageSlices(db, filter, page);
      return (await readPage({ longReads }, reply, 0, page, slices)).map(presentToken);
    },
  });

  route('POST /admin/tokens', {
    summary: 'Create an operator token',
    body: NewToken,
    created: CreatedToken,
    errors: [409],
    handle: async (request) => {
      const { name, may_find_connections } = request.body;
      const { token, text } = await operatorWrite(ctx, request, (tx) =>
        createOperatorToken(tx, ctx.secrets, name, { may_find_connections }),
      );
      return created(`/admin/tokens/${token.id}`, { ...presentToken(token), admin_token: text });
    },
  });

  route('DELETE /admin/tokens/:id', {
    summary: 'Revoke an operator token',
    description: 'The last one cannot be revoked.',
    params: TokenPath,
    errors: [409],
    handle: (request) =>
      operatorWrite(ctx, request, (tx) => removeOperatorToken(tx, idOf(request.params.id))),
  });

  route('POST /admin/tokens/remove', {
    id: 'revoke_tokens',
    summary: 'Revoke operator tokens, all or none',
    description: 'One has to be left.',
    body: Ids,
    answer: Revoked,
    statuses: {
      404: oneIsMissing('tokens'),
      409: 'No operator token would be left.',
    },
    handle: async (request) => {
      const { ids } = request.body;
      await operatorWrite(ctx, request, (tx) => removeOperatorTokens(tx, ids));
      return { revoked: ids.length };
    },
  });
}
