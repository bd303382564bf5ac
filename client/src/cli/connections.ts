// exw connections: who is connected now with the account's users, and ending that.
import { type Column, counted, type Shown } from '../../../kit/src/cli/output.ts';
import { clockInWords } from '../../../kit/src/cli/values.ts';
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

/** "Incomplete: no answer from a node of fra1." Undefined: none is missing. */
function missingNote(missing: OpenConnections['missing'], lack: string): string | undefined {
  const servers = [...new Set(missing.map(({ server }) => server))];
  return servers.length === 0 ? undefined : `${lack} from a node of ${servers.join(', ')}.`;
}

/** The groups and servers that the list lacks; undefined: none. */
function lackOf({ rest, missing }: OpenConnections): string | undefined {
  const sentences = [
    rest.groups > 0 ? `${rest.connections} more in ${rest.groups} smaller groups.` : undefined,
    missingNote(missing, 'Incomplete: no answer'),
  ];
  return sentences.filter(Boolean).join(' ') || undefined;
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

interface Ended {
  ended: number;
  missing: Array<{ server: string; reason: string }>;
  until: number;
}

/** "12 connections were ended. No answer from a node of fra1." And until when it may end some. */
export function endedText({ ended, missing, until }: Ended): string {
  const sentences = [
    `${counted(ended, 'connection')} ${ended === 1 ? 'was' : 'were'} ended.`,
    missingNote(missing, 'No answer'),
    missing.some(({ reason }) => reason !== 'unfinished')
      ? `Until ${clockInWords(until)} they may still be ended there.`
      : undefined,
  ];
  return sentences.filter(Boolean).join(' ');
}

export const endConnections = command({
  name: 'connections end',
  summary: 'end open connections: all that have in common what the options say',
  options: {
    ...personOptions,
    of: { summary: 'those of this user', value: '<name>', read: String },
    address: { summary: 'those from this address', value: '<ip>', read: address },
    exit: { summary: 'those to this exit IP', value: '<ip>', read: address },
    server: { summary: 'those of this server', value: '<name>', read: String },
    service: {
      summary: 'those of this service: proxy, proxy-https, vpn-ikev2, …',
      value: '<service>',
      read: String,
    },
  },
  notes: `${personNotes}\nWithout the admin flag you end your own connections.`,
  examples: ['exw connections end --user alice --address 203.0.113.7'],
  question: ({ options: { of, address, exit, server, service } }) => {
    const named = Object.entries({ of, from: address, 'to the exit IP': exit, on: server });
    const parts = [...named, ['by', service] as const].flatMap(([word, value]) =>
      value === undefined ? [] : [` ${word} ${value}`],
    );
    return `This ends ${parts.length === 0 ? 'all open connections' : `the open connections${parts.join('')}`} that you may end. A user whose right stands may connect again at once.`;
  },
  run: async (given, session): Promise<Shown> => {
    const { of: user, address, exit: exit_ip, server, service } = given.options;
    const value = await asPerson(session, given.options, (person) =>
      person.send<Ended>('POST', '/connections/end', { user, address, exit_ip, server, service }),
    );
    return { value, parts: [], sentence: endedText(value) };
  },
});
