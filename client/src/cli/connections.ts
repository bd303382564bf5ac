// exw connections: who is connected now with the account's users, and ending that.
import { fieldsIn, queryOf } from '../../../kit/src/cli/fields.ts';
import type { Options } from '../../../kit/src/cli/options.ts';
import { type Column, counted, type Shown } from '../../../kit/src/cli/output.ts';
import { bytesInWords, clockInWords, countUpTo } from '../../../kit/src/cli/values.ts';
import { terminalWidth, wrapped } from '../../../kit/src/cli/wrapped.ts';
import { command } from './command.ts';
import { asPerson, personNotes, personOptions } from './person.ts';
import { address } from './values.ts';

interface Sums {
  groups: number;
  connections: number;
  up: number;
  down: number;
}

interface OpenConnections {
  connections: object[];
  sums?: object[];
  rest: Sums;
  total: Sums;
  missing: Array<{ server: string }>;
}

const figures: Column[] = [
  ['open', 'connections'],
  ['sent', 'up', 'bytes'],
  ['received', 'down', 'bytes'],
  ['since', 'since', 'past'],
  ['last byte', 'last_byte_at', 'past'],
];
const columns: Column[] = [
  ...['user', 'address', 'server'],
  ['exit IP', 'exit_ip'],
  ...figures,
  ['service', 'service', 'detail'],
  ['credentials', 'credentials', 'list'],
];

/** "Incomplete: no answer from a node of fra1." Undefined: none is missing. */
function missingNote(missing: OpenConnections['missing'], lack: string): string | undefined {
  const servers = [...new Set(missing.map(({ server }) => server))];
  return servers.length === 0 ? undefined : `${lack} from a node of ${servers.join(', ')}.`;
}

/** The sums of all groups, and the groups and servers that the list lacks. */
export function notesOn({ rest, total, missing }: OpenConnections): string[] {
  const { connections, groups, up, down } = total;
  return [
    connections > 0
      ? `${counted(connections, 'connection')} in ${counted(groups, 'group')}, ${bytesInWords(up)} sent, ${bytesInWords(down)} received.`
      : undefined,
    rest.groups > 0
      ? `${counted(rest.groups, 'smaller group')} with ${counted(rest.connections, 'connection')} not listed.`
      : undefined,
    missingNote(missing, 'Incomplete: no answer'),
  ].flatMap((note) => note ?? []);
}

/** On a terminal the notes are below the list, where --watch draws them, too. */
function shownConnections(value: OpenConnections, by: string | undefined): Shown {
  const list = {
    rows: value.sums ?? value.connections,
    columns: by === undefined ? columns : [by, 'groups', ...figures],
    empty: { noun: 'open connections' },
  };
  const notes = notesOn(value);
  if (!process.stdout.isTTY) return { value, parts: [list], sentence: notes.join(' ') };
  const text = notes.map((note) => `${note}\n`).join('');
  return { value, parts: [list, { text: wrapped(text, terminalWidth()) }] };
}

const by = ['user', 'server', 'address'] as const;

/** The options that select connections, and the person who asks. */
const selectors = {
  ...personOptions,
  of: {
    ...{ filter: true, summary: 'only connections of this user', field: 'user' },
    ...{ value: '<name>', read: String },
  },
  address: {
    ...{ filter: true, summary: 'only connections from this address', field: 'address' },
    ...{ value: '<ip>', read: address },
  },
  exit: {
    ...{ filter: true, summary: 'only connections to this exit IP', field: 'exit_ip' },
    ...{ value: '<ip>', read: address },
  },
  server: {
    ...{ filter: true, summary: 'only connections on this server', field: 'server' },
    ...{ value: '<name>', read: String },
  },
} as const satisfies Options;

const listOptions = {
  ...selectors,
  by: {
    ...{ summary: 'show totals for each of these', field: 'by', choices: by },
    ...{ value: `<${by.join('|')}>`, read: String },
  },
  limit: {
    ...{ summary: 'maximum number of rows, up to 1000 (default: 1000)' },
    ...{ field: 'limit', value: '<number>', read: countUpTo(1000) },
  },
} as const satisfies Options;

export const connections = command({
  name: 'connections',
  list: true,
  summary: 'list open connections by user, address and exit IP, largest groups first',
  options: listOptions,
  notes: `${personNotes}\nWithout the admin flag, you see only your own connections.`,
  examples: [
    'exw connections --user alice --watch',
    'exw connections --user alice --of bob --by address',
  ],
  run: async ({ options }, session): Promise<Shown> => {
    const query = queryOf({ limit: 1000, ...fieldsIn(listOptions, options) });
    const value = await asPerson(session, options, (person) =>
      person.send<OpenConnections>('GET', `/connections${query}`),
    );
    return shownConnections(value, options.by);
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
    ended === 0
      ? 'No open connection matches.'
      : `${counted(ended, 'connection')} ${ended === 1 ? 'was' : 'were'} ended.`,
    missingNote(missing, 'No answer'),
    missing.some(({ reason }) => reason !== 'unfinished')
      ? `They may still be ended there until ${clockInWords(until)}.`
      : undefined,
  ];
  return sentences.filter(Boolean).join(' ');
}

const endOptions = {
  ...selectors,
  service: {
    summary: 'only connections through this service: proxy, proxy-https, vpn-ikev2, …',
    field: 'service',
    value: '<service>',
    read: String,
  },
} as const satisfies Options;

export const endConnections = command({
  name: 'connections end',
  summary: 'end all open connections that match the options',
  options: endOptions,
  notes: `${personNotes}\nWithout the admin flag, you can end only your own connections.`,
  examples: ['exw connections end --user alice --address 203.0.113.7'],
  question: ({ options: { of, address, exit, server, service } }) => {
    const named = Object.entries({ of, from: address, 'to the exit IP': exit, on: server });
    const parts = [...named, ['by', service] as const].flatMap(([word, value]) =>
      value === undefined ? [] : [` ${word} ${value}`],
    );
    return `This ends all open connections${parts.join('')} that you may end. Users who still have access can connect again at once.`;
  },
  run: async ({ options }, session): Promise<Shown> => {
    const value = await asPerson(session, options, (person) =>
      person.send<Ended>('POST', '/connections/end', fieldsIn(endOptions, options)),
    );
    return { value, parts: [], sentence: endedText(value) };
  },
});
