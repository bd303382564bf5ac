// …/users/{user}/vpn-profile: what a user's device needs for the VPN of a server.
import { Type } from 'typebox';
import { requireWritable } from '../../accounts/accounts.ts';
import { Integer, Strict, Text, Timestamp } from '../../http/fields.ts';
import { created } from '../../http/route.ts';
import { createVpnProfile } from '../../vpn_profiles/vpn_profiles.ts';
import { ten_years_seconds } from '../account/users.ts';
import type { Mount } from './mount.ts';
import { requireSelf } from './scope.ts';
import { UserPath, userOf } from './users.ts';

const formats = ['apple', 'windows', 'android', 'networkmanager', 'strongswan'] as const;

const NewVpnProfile = Strict({
  server: Text('Server name. The server must be on the contract, and have a VPN service.'),
  lifetime_seconds: Type.Optional(
    Integer(
      'After that the password ends; without it, only with the token version.',
      60,
      ten_years_seconds,
    ),
  ),
});
const VpnProfileRecord = Strict({
  server: Type.String({ description: 'Server name.' }),
  services: Type.Array(Type.String(), { description: 'VPN services of the server.' }),
  hostname: Type.String({ description: 'Name by which the server shows who it is.' }),
  exit_ips: Type.Array(Type.String(), { description: 'Addresses to dial; each is the exit.' }),
  login: Type.String({ description: 'User name to log in with.' }),
  password: Type.String({ description: 'Password, of this server alone.' }),
  shared_key: Type.Union([Type.String(), Type.Null()], {
    description: 'Shared key of vpn-ikev1; null where the server does not have that.',
  }),
  expiry: Type.Union([Timestamp('When it ends.'), Type.Null()], {
    description: 'When the password ends, in epoch seconds; null: with the token version.',
  }),
  files: Type.Array(
    Strict({
      format: Type.Union(formats.map((format) => Type.Literal(format))),
      name: Type.String({ description: 'File name.' }),
      content: Type.String({ description: 'Text of the file.' }),
    }),
    { description: 'Files by which devices take the profile of vpn-ikev2, for the first exit.' },
  ),
});

export function vpnProfileRoutes({ ctx, routesOf, write }: Mount): void {
  const route = routesOf('users');
  route('POST /users/:user/vpn-profile', {
    may: ['admin', 'proxy'],
    params: UserPath,
    find: (scope, names) => {
      requireSelf(scope, names.user, 'name');
      return userOf(ctx.db, scope, names);
    },
    record: true,
    summary: 'Make a VPN profile of a user',
    description:
      'Nothing is stored: the password follows from the user, the server and the token version. Without the admin flag: for oneself alone.',
    body: NewVpnProfile,
    created: VpnProfileRecord,
    errors: [404, 409],
    handle: async (request) => {
      const { user } = request.params;
      const { server, lifetime_seconds } = request.body;
      const profile = await write(request, async (tx, scope) => {
        requireSelf(scope, user, 'name');
        const account = await requireWritable(tx, scope.account_id);
        const of = { user, server, lifetime_seconds };
        return createVpnProfile(tx, ctx.secrets, account, of);
      });
      return created(`${request.scope.path}/users/${user}`, profile);
    },
  });
}
