// …/users/{user}/vpn-profile: what a user's devices need for the VPN of a server, or of all.
import { Type } from 'typebox';
import { requireWritable } from '../../accounts/accounts.ts';
import { invalidField } from '../../errors.ts';
import { Integer, Named, OneOf, Strict, Text, Timestamp } from '../../http/fields.ts';
import { created } from '../../http/route.ts';
import { createVpnProfile, filesOf } from '../../vpn_profiles/vpn_profiles.ts';
import { tenYearsSeconds } from '../account/users.ts';
import type { Mount } from './mount.ts';
import { onlyOneself, requireSelf } from './scope.ts';
import { UserPath, userOf } from './users.ts';

const formats = ['apple', 'windows', 'android', 'networkmanager', 'strongswan'] as const;
const encodings = ['utf-8', 'base64'] as const;

const NewVpnProfile = Named('NewVpnProfile', {
  server: Type.Optional(
    Text('Server name; all servers of the contract that have a VPN service when omitted.'),
  ),
  exit_ip: Type.Optional(
    Text('IPv4 exit of that server, to be dialled by the files; its first one when omitted.'),
  ),
  lifetime_seconds: Type.Optional(
    Integer(
      'After that the passwords end; without it, only with the token version.',
      60,
      tenYearsSeconds,
    ),
  ),
});
const ServerProfile = Strict({
  server: Type.String({ description: 'Server name.' }),
  services: Type.Array(Type.String(), { description: 'VPN services of the server.' }),
  hostname: Type.String({ description: 'Name by which the server shows who it is.' }),
  exit_ip: Type.String({ description: 'Address that the files dial.' }),
  exit_ips: Type.Array(Type.String(), {
    description: 'All addresses that can be dialled; the one that is dialled is the exit.',
  }),
  password: Type.String({ description: 'Password, of this server alone.' }),
  shared_key: Type.Union([Type.String(), Type.Null()], {
    description:
      'Shared key (PSK) of vpn-ikev1 and vpn-l2tp; null where the server has neither of them.',
  }),
});
const VpnProfileRecord = Named('VpnProfile', {
  login: Type.String({ description: 'User name to log in with, the same at all servers.' }),
  expiry: Type.Union([Timestamp('When it ends.'), Type.Null()], {
    description: 'When the passwords end, in epoch seconds; null: with the token version.',
  }),
  servers: Type.Array(ServerProfile, { description: 'Values to type, by server.' }),
  files: Type.Array(
    Strict({
      format: OneOf([...formats], 'For which devices it is.'),
      name: Type.String({ description: 'File name.' }),
      encoding: Type.Union(
        encodings.map((encoding) => Type.Literal(encoding)),
        { description: 'Of `content`: text, or the bytes of a signed file in base64.' },
      ),
      content: Type.String({ description: 'Content of the file.' }),
    }),
    {
      description:
        'Files by which devices take the profile of vpn-ikev2, or of vpn-l2tp where a server has only that. Each holds all servers, but android: one file for each.',
    },
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
    id: 'create_vpn_profile',
    summary: 'Make a VPN profile of a user',
    description:
      'Nothing is stored: the passwords follow from the user, the servers and the token version. Without the admin flag: for oneself alone.',
    body: NewVpnProfile,
    created: VpnProfileRecord,
    statuses: {
      201: 'The profile, with the passwords. `Location` is its user.',
      403: onlyOneself,
      409: 'The user is unknown, inactive or without the proxy permission; the server is not on the contract, or has no VPN; or the exit is not one of its VPN.',
    },
    handle: async (request) => {
      const { user } = request.params;
      const { body } = request;
      if (body.exit_ip !== undefined && body.server === undefined) {
        throw invalidField('exit_ip', 'needs `server`, of which it is an exit.');
      }
      const { now, ...profile } = await write(request, async (tx, scope) => {
        requireSelf(scope, user, 'name');
        const account = await requireWritable(tx, scope.account_id);
        const wanted = { user, ...body };
        return { ...(await createVpnProfile(tx, ctx.secrets, account, wanted)), now: tx.now };
      });
      const files = await filesOf(profile, ctx.signer(), now);
      return created(`${request.scope.path}/users/${user}`, { ...profile, files });
    },
  });
}
