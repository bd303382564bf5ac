// exw connections: who is connected now with the account's users.
import type { Column, Shown } from '../../../kit/src/cli/output.ts';
import { command } from './command.ts';
import { asPerson, personNotes, personOptions } from './person.ts';
import { address } from './values.ts';

interface OpenConnections {
  connections: object[];
  rest: { groups: number; connections: number };
  missing: Array<{ server: string }>;
}

const columns: Column[] = [
  'user',
  'address',
  'server',
  ['exit IP', 'exit_ip'],
  ['open', 'connections'],
  ['sent', 'up', 'bytes'],
  ['received', 'down', 'bytes'],
  ['since', 'since', 'past'],
  ['last byte', 'last_byte_at', 'past'],
  ['service', 'service', 'detail'],
  ['credentials', 'credentials', 'list'],
];

/** The groups and servers that the list lacks; undefined: none. */
function lackOf({ rest, missing }: OpenConnections): string | undefined {
  const servers = [...new Set(missing.map(({ server }) => server))];
  const sentences = [
    ...(rest.groups > 0 ? [`${rest.connections} more in ${rest.groups} smaller groups.`] : []),
    ...(servers.length > 0 ? [`Incomplete: no answer from a node of ${servers.join(', ')}.`] : []),
  ];
  return sentences.length > 0 ? sentences.join(' ') : undefined;
}

export const connections = command({
  name: 'connections',
  list: 'once',
  summary: 'list open connections by user, address and exit IP, the most first',
  options: {
    ...personOptions,
    of: { filter: true, summary: 'only those of this user', value: '<name>', read: String },
    address: {
      filter: true,
      summary: 'only those from this address',
      value: '<ip>',
      read: address,
    },
    exit: { filter: true, summary: 'only those to this exit IP', value: '<ip>', read: address },
    server: { filter: true, summary: 'only those of this server', value: '<name>', read: String },
  },
  notes: `${personNotes}\nWithout the admin flag you see your own connections.`,
  run: async (given, session): Promise<Shown> => {
    const { of: user, address, exit: exit_ip, server } = given.options;
    const wanted = Object.entries({ user, address, exit_ip, server, limit: '1000' });
    const query = new URLSearchParams(
      wanted.filter((field): field is [string, string] => field[1] !== undefined),
    );
    const value = await asPerson(session, given.options, (person) =>
      person.send<OpenConnections>('GET', `/connections?${query}`),
    );
    const sentence = lackOf(value);
    return {
      ...{
        value,
        parts: [{ rows: value.connections, columns, empty: { of: 'open connections' } }],
      },
      ...(sentence === undefined ? {} : { sentence }),
    };
  },
});
