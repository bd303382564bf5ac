// /console/proxy-tokens: proxy access tokens; people make their own, admins also others'.
import { Type } from 'typebox';
import { requireWritable } from '../../accounts/accounts.ts';
import { Integer, Named, Text, Timestamp } from '../../http/fields.ts';
import { created } from '../../http/route.ts';
import { createProxyToken } from '../../users/users.ts';
import { tenYearsSeconds } from '../account/users.ts';
import type { Mount } from './mount.ts';
import { onlyOneself, requireSelf } from './scope.ts';

const NewProxyToken = Named('NewConsoleProxyToken', {
  user: Text('User name. The user must have the proxy flag.'),
  lifetime_seconds: Type.Optional(
    Integer('Token lifetime; the contract default when omitted.', 1, tenYearsSeconds),
  ),
});
const ProxyToken = Named('CreatedProxyToken', {
  token: Type.String({ description: 'Proxy access token (ewt_…), shown only here.' }),
  user: Type.String({ description: 'Its user: the username that goes with it.' }),
  expiry: Timestamp('When it ends.'),
});

export function proxyTokenRoutes({ ctx, routesOf, write }: Mount): void {
  const route = routesOf('users');
  route('POST /proxy-tokens', {
    may: ['admin', 'proxy'],
    record: true,
    summary: 'Create a proxy access token',
    description: 'Without the admin flag: for oneself alone.',
    body: NewProxyToken,
    created: ProxyToken,
    statuses: {
      201: 'The token, shown only here. `Location` is its user.',
      403: onlyOneself,
      409: 'The user is inactive or without the proxy permission.',
    },
    handle: async (request) => {
      const { user, lifetime_seconds } = request.body;
      const token = await write(request, async (tx, scope) => {
        requireSelf(scope, user, 'name');
        const account = await requireWritable(tx, scope.account_id);
        return createProxyToken(tx, ctx.secrets, account, user, lifetime_seconds);
      });
      return created(`${request.scope.path}/users/${token.user}`, token);
    },
  });
}
