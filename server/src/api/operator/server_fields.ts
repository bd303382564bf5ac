// The fields that describe a server and an exit IP: a schema for each, and its rule in words.
import { Type } from 'typebox';
import { Integer, Name, OneOf, Strict, Text } from '../../http/fields.ts';
import { services } from '../../servers/servers.ts';

export const serverFields = {
  name: Name('Server short name; it stays.'),
  hostname: Text('Fully-qualified domain name of the server.', 512),
  title: Text('Server title, usually the closest metro area.', 128),
  city: Text('City that houses the server.', 128),
  country: Type.String({ description: 'ISO-3166-1 alpha-2 country code.', pattern: '^[A-Z]{2}$' }),
  latitude: Type.Number({ description: 'Latitude.', minimum: -90, maximum: 90 }),
  longitude: Type.Number({ description: 'Longitude.', minimum: -180, maximum: 180 }),
  services: Type.Array(OneOf(services, 'A service.'), {
    description: 'Services available.',
    minItems: 1,
    uniqueItems: true,
  }),
  port_schemes: Type.Array(Name('Port scheme, by name.'), {
    description: 'Port schemes that it listens on; "default" for a new server.',
    minItems: 1,
    maxItems: 32,
    uniqueItems: true,
  }),
};

export const exitFields = {
  ip: Text('Exit IP address.', 64),
  port_base: Integer('Value added to the bases of a port scheme to reach this IP.', 0, 499),
};

/** Numbers of exit IPs by status. */
export const exitCountsOf = (description: string) =>
  Strict(
    {
      ok: Integer('Those that work.'),
      warn: Integer('Those that work poorly.'),
      crit: Integer('Those that do not work.'),
      unknown: Integer('Those without a report of late.'),
    },
    description,
  );

/** The allowed values of each field, in words, for reports that name every fault. */
export const expected = {
  name: 'a short name of letters, digits and . _ @ -, at most 63 characters',
  hostname: 'one full hostname',
  title: 'a text of 1 to 128 characters',
  city: 'a text of 1 to 128 characters',
  country: 'two upper-case letters, as ISO 3166 writes them',
  latitude: 'a number from -90 to 90',
  longitude: 'a number from -180 to 180',
  services: `one or more of ${services.join(', ')}, each once`,
  port_schemes: 'one or more names of port schemes, each once',
  ip: 'one IPv4 or IPv6 address',
  port_base: 'a whole number from 0 to 499',
} as const satisfies Record<keyof typeof serverFields | keyof typeof exitFields, string>;
