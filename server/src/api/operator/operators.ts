// /admin/tokens: the tokens of operators.
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import type { Context } from '../../context.ts';
import { Integer, idOf, Name, Strict, Timestamp } from '../../http/fields.ts';
import { created } from '../../http/route.ts';
import {
  createOperatorToken,
  listOperatorTokens,
  removeOperatorToken,
  withoutHash,
} from '../../operators/operators.ts';
import { operatorWrite } from './checks.ts';
import { operatorRoute } from './route.ts';

const tokenFields = {
  id: Integer('Names it in paths.', 1),
  name: Type.String({ description: 'Who holds it; the actor in the audit log.' }),
  created_at: Timestamp('When it was created.'),
  last_used_at: Type.Union([Integer('Epoch seconds.'), Type.Null()], {
    description: 'Its last use, to the minute; null before the first.',
  }),
};
const Token = Strict(tokenFields);
const CreatedToken = Strict({
  ...tokenFields,
  admin_token: Type.String({ description: 'The token (ewo_…), shown only here.' }),
});
const NewToken = Strict({ name: Name('Who will hold it.') });

const TokenPath = Type.Object({ id: Type.String({ description: 'Id of the operator token.' }) });

export function operatorTokenRoutes(app: FastifyInstance, ctx: Context): void {
  const route = operatorRoute(app, 'Operator: operator tokens');

  route('GET /admin/tokens', {
    summary: 'List operator tokens',
    answer: Type.Array(Token),
    handle: async () => (await listOperatorTokens(ctx.db)).map(withoutHash),
  });

  route('POST /admin/tokens', {
    summary: 'Create an operator token',
    body: NewToken,
    created: CreatedToken,
    errors: [409],
    handle: async (request) => {
      const { token, text } = await operatorWrite(ctx, request, (tx) =>
        createOperatorToken(tx, ctx.secrets, request.body.name),
      );
      return created(`/admin/tokens/${token.id}`, { ...withoutHash(token), admin_token: text });
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
}
