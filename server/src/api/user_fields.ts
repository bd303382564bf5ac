// The words of a user that people and operators set: name, permissions, limits.
import { Type } from 'typebox';
import { Integer, Name, Named, OneOf, orNull, Strict, Text, Timestamp } from '../http/fields.ts';
import {
  maxAddresses,
  maxAddressSeconds,
  maxServers,
  minAddressSeconds,
  userServices,
} from '../users/users.ts';
import { flagFields } from './account/users.ts';

const limitFields = {
  limit_bytes: orNull(Integer('Bytes.'), 'Bytes in a billing period; null: as the contract says.'),
  on_limit: OneOf(
    ['refuse', 'notify'],
    'What happens when these bytes are used up: nodes refuse the user until the next billing period, or the user only needs attention.',
  ),
  max_connections: orNull(
    Integer('Connections.', 1, 1_000_000),
    'Connections at once, in the whole network; null: no limit.',
  ),
  max_addresses: orNull(
    Integer('Addresses.', 1, maxAddresses),
    'Source addresses within `address_seconds`, an IPv6 address counted as its /64; null: no limit.',
  ),
  address_seconds: Integer(
    'How long a source address counts after its last connection.',
    minAddressSeconds,
    maxAddressSeconds,
  ),
  active_until: orNull(
    Timestamp('Epoch seconds.', 1),
    'When the access to proxies and VPN ends; null: never.',
  ),
  services: orNull(
    Type.Array(OneOf([...userServices], 'A service; proxy: over TLS, too.'), {
      minItems: 1,
      uniqueItems: true,
    }),
    'The services that the user may use; null: all.',
  ),
  servers: orNull(
    Type.Array(Type.String({ description: 'Server short name.' }), {
      maxItems: maxServers,
      uniqueItems: true,
    }),
    'The servers that the user may use; null: all, []: none. One that was removed from the network is not shown.',
  ),
};
export const Limits = Named(
  'UserLimits',
  limitFields,
  'Limits of the user, next to those of the contract.',
);
export const LimitChanges = orNull(
  Named('UserLimitChanges', Type.Partial(Type.Object(limitFields)).properties),
  'Limits; those left out stay as they are. A null ends one; null instead of an object ends them all.',
);

export const DisplayName = Text('Descriptive name.', 128);
export const Flags = Strict(
  Type.Partial(Type.Object(flagFields)).properties,
  'Permissions; those left out are off for a new user, and stay as they are on a change.',
);
export const NewUser = Named('NewAccountUser', {
  name: Name('Username the user authenticates with; it stays.'),
  display_name: Type.Optional(DisplayName),
  flags: Type.Optional(Flags),
  limits: Type.Optional(LimitChanges),
});
