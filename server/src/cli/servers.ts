// exitward server …, exitward exit …: the servers of the network.
import type { Choice, Noun } from './command.ts';
import { type Column, done, record, table } from './output.ts';
import { decimal, list, whole } from './values.ts';

type Row = Record<string, unknown>;

const listed: Column[] = [
  ['name', 'name'],
  ['hostname', 'hostname'],
  ['title', 'title'],
  ['city', 'city'],
  ['country', 'country'],
  ['exit IPs', 'ip_count'],
  ['health', 'exits', 'counts'],
  ['services', 'services', 'list'],
  ['port schemes', 'port_schemes', 'list'],
];
const known: Column[] = [
  ['name', 'name'],
  ['hostname', 'hostname'],
  ['title', 'title'],
  ['city', 'city'],
  ['country', 'country'],
  ['latitude', 'latitude'],
  ['longitude', 'longitude'],
  ['services', 'services', 'list'],
  ['port schemes', 'port_schemes', 'list'],
  ['contracts', 'contracts'],
  ['exit IPs', 'ip_count'],
];
const exitColumns: Column[] = [
  ['exit IP', 'ip'],
  ['port base', 'port_base'],
  ['status', 'status'],
  ['checked', 'status_time', 'time'],
];

/** The details of a server; `required` when it is added. */
function details(required: boolean): Choice[] {
  return [
    {
      flags: '--hostname <hostname>',
      description: 'fully-qualified domain name',
      field: 'hostname',
      required,
    },
    {
      flags: '--title <text>',
      description: 'usually the closest metro area',
      field: 'title',
      required,
    },
    { flags: '--city <text>', description: 'city that houses it', field: 'city', required },
    {
      flags: '--country <code>',
      description: 'ISO 3166 code such as DE',
      field: 'country',
      required,
    },
    {
      flags: '--latitude <degrees>',
      description: '-90 to 90',
      parse: decimal,
      field: 'latitude',
      required,
    },
    {
      flags: '--longitude <degrees>',
      description: '-180 to 180',
      parse: decimal,
      field: 'longitude',
      required,
    },
    {
      flags: '--services <words>',
      description: 'such as proxy,proxy-https',
      parse: list,
      field: 'services',
      required,
    },
    {
      flags: '--port-schemes <names>',
      description: 'port schemes that it listens on',
      parse: list,
      field: 'port_schemes',
    },
  ];
}

function showServer(value: Row, sentence?: string) {
  const shown = record(value, known, sentence);
  return {
    ...shown,
    parts: [...shown.parts, { rows: value.exit_ips as Row[], columns: exitColumns }],
  };
}

export const serverNoun: Noun = {
  name: 'server',
  summary: 'servers of the network',
  verbs: [
    {
      usage: 'list',
      summary: 'list the servers of the network',
      run: async (_given, api) => table(await api.get<Row[]>('/servers'), listed),
    },
    {
      usage: 'show <server>',
      summary: 'show a server with its exit IPs',
      run: async (given, api) => showServer(await api.get<Row>(`/servers/${given.part('server')}`)),
    },
    {
      usage: 'add <name>',
      summary: 'add a server to the network',
      options: details(true),
      run: async (given, api) =>
        showServer(
          await api.post<Row>('/servers', { name: given.word('name'), ...given.fields }),
          'The server was added.',
        ),
    },
    {
      usage: 'change <server>',
      summary: 'change what is known of a server',
      options: details(false),
      run: async (given, api) =>
        showServer(
          await api.patch<Row>(`/servers/${given.part('server')}`, given.fields),
          'The server was changed.',
        ),
    },
    {
      usage: 'remove <server>',
      summary: 'take a server out of the network',
      question: (given) =>
        `This takes ${given.word('server')} out of the network, with its exit IPs and nodes.`,
      run: async (given, api) => {
        await api.delete(`/servers/${given.part('server')}`);
        return done(`${given.word('server')} is removed.`, { removed: given.word('server') });
      },
    },
  ],
};

export const exitNoun: Noun = {
  name: 'exit',
  summary: 'exit IPs of a server',
  verbs: [
    {
      usage: 'add <server> <ip>',
      summary: 'add an exit IP, or move it to another port base',
      options: [
        {
          flags: '--port-base <number>',
          description: '0 to 499, once per server',
          parse: whole,
          field: 'port_base',
          required: true,
        },
      ],
      run: async (given, api) => {
        const path = `/servers/${given.part('server')}/exits/${given.part('ip')}`;
        return showServer(await api.put<Row>(path, given.fields));
      },
    },
    {
      usage: 'remove <server> <ip>',
      summary: 'remove an exit IP',
      question: (given) =>
        `This takes the exit IP ${given.word('ip')} off ${given.word('server')}.`,
      run: async (given, api) => {
        await api.delete(`/servers/${given.part('server')}/exits/${given.part('ip')}`);
        return done(`${given.word('ip')} is removed.`, { removed: given.word('ip') });
      },
    },
  ],
};
