// GET /v0/users and POST /v0/users/token: current variant only.
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { requireWritable } from '../../accounts/accounts.ts';
import type { Reader } from '../../db/database.ts';
import { Integer, Named, Strict } from '../../http/fields.ts';
import { createProxyToken, type User, userSlices } from '../../users/users.ts';
import { never, type Part } from '../lists.ts';
import type { AccountContext } from './context.ts';
import { listed } from './responses.ts';
import { accountOf, Routes } from './route.ts';

export const flagFields = {
  proxy: Type.Boolean({ description: 'May use the proxy network.' }),
  billing: Type.Boolean({ description: 'May see billing.' }),
  admin: Type.Boolean({ description: 'May administer the account.' }),
};
export const UserRecord = Named('User', {
  id: Integer('Numeric user id.', 1),
  name: Type.String({ description: 'Username the user authenticates with.' }),
  display_name: Type.String({ description: 'Descriptive name.' }),
  active: Type.Boolean({ description: 'Whether the user is enabled.' }),
  flags: Strict(flagFields, 'Permissions.'),
  token_version: Integer('Increasing it invalidates all earlier tokens of that user.'),
});

export const tenYearsSeconds = 10 * 365.25 * 86_400;
const NewToken = Named('NewProxyToken', {
  user: Type.Union([Integer('User id.', 1), Type.String({ minLength: 1, maxLength: 255 })], {
    description: 'A user name or user id. The user must have the proxy flag.',
  }),
  expire: Type.Optional(
    Integer('Token lifetime in seconds; the contract default when omitted.', 1, tenYearsSeconds),
  ),
});

/** A user as both the account API and the operator's API show it. */
export function presentUser({
  id,
  name,
  display_name,
  active,
  proxy,
  billing,
  admin,
  token_version,
}: User) {
  return {
    id,
    name,
    display_name,
    active: active === 1,
    flags: { proxy: proxy === 1, billing: billing === 1, admin: admin === 1 },
    token_version,
  };
}

async function* activeUsers(db: Reader, account_id: number): AsyncGenerator<Part, void, void> {
  for await (const { users, isLast } of userSlices(db, account_id)) {
    const values = users.filter(({ active }) => active === 1).map(presentUser);
    yield { values, isLast, valid_until: never };
  }
}

export function userRoutes(app: FastifyInstance, ctx: AccountContext): void {
  const routes = new Routes(app, ctx);
  const ofUsers = { variant: 'current', tag: 'Users and tokens' } as const;

  routes.read('GET /v0/users', {
    ...ofUsers,
    summary: 'The active users of the contract, with their permissions',
    answer: Type.Array(UserRecord),
    handle: async (request) => {
      const account_id = accountOf(request);
      const read = (db: Reader) => activeUsers(db, account_id);
      const name = request.raw.url ?? '';
      return listed(await ctx.lists.make(account_id, name, request.session.versions, read));
    },
  });

  routes.change('POST /v0/users/token', {
    ...ofUsers,
    id: 'create_proxy_token',
    summary: 'Create a proxy access token',
    description:
      "The token is the password of the proxy's own authentication, with the user's name as username. A user may have many; raising the user's `token_version` ends them all. A string is a name or, failing that, an id in digits.",
    body: NewToken,
    answer: Named('ProxyToken', {
      token: Type.String({ description: 'Opaque proxy access token.' }),
    }),
    statuses: {
      200: 'The token, shown only here.',
      409: 'The user is unknown, inactive or without the proxy permission.',
    },
    handle: async (tx, request) => {
      const account = await requireWritable(tx, accountOf(request));
      const { user, expire } = request.body;
      const { token } = await createProxyToken(tx, ctx.secrets, account, user, expire);
      return { status: 200, value: { token } };
    },
  });
}
