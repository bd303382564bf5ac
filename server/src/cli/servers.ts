// exitward server …, exitward exit …: the servers of the network.

import { type Column, notify, record, type Shown } from '../../../kit/src/cli/output.ts';
import { list } from '../../../kit/src/cli/values.ts';
import { listAt, removeAt } from './actions.ts';
import { certificateEnds, countsInWords, type Row, statusesInWords } from './columns.ts';
import { nounOf } from './command.ts';
import type { Choice } from './given.ts';
import { decimal, whole } from './values.ts';

const server = '/servers/<server>';
const exit = `${server}/exits/<ip>`;

const place: Column[] = ['name', 'hostname', 'title', 'city', 'country'];
const listens: Column[] = [
  ['services', 'services', 'list'],
  ['port schemes', 'port_schemes', 'list'],
];
const exits: Column = ['exit IPs', 'ip_count'];
const listed: Column[] = [...place, exits, ['health', 'exits', countsInWords], ...listens];
const detailColumns: Column[] = [
  ...place,
  'latitude',
  'longitude',
  ...listens,
  'contracts',
  exits,
  certificateEnds,
];
const exitColumns: Column[] = [
  ['exit IP', 'ip'],
  'port_base',
  ['status', 'status', 'state'],
  ['checked', 'status_time', 'past'],
  ['VPN', 'vpn', statusesInWords],
];

/** The details that a new server needs. */
const details: Choice[] = [
  ['--hostname <hostname>', 'fully-qualified domain name', 'hostname'],
  ['--title <text>', 'title, usually the closest metro area', 'title'],
  ['--city <text>', 'city of the data center', 'city'],
  ['--country <code>', 'ISO 3166 country code, such as DE', 'country'],
  ['--latitude <degrees>', '-90 to 90', 'latitude', decimal],
  ['--longitude <degrees>', '-180 to 180', 'longitude', decimal],
  ['--services <words>', 'services, such as proxy,proxy-https', 'services', list],
];
const portSchemes: Choice = [
  '--port-schemes <names>',
  'port schemes to listen on',
  'port_schemes',
  list,
];

const noExits = { noun: 'exit IPs', next: 'exitward exit add <server> <ip>' };

function showServer(value: Row, sentence?: string): Shown {
  const shown = record(value, detailColumns, sentence);
  const exitIps = { rows: value.exit_ips as Row[], columns: exitColumns, empty: noExits };
  return { ...shown, parts: [...shown.parts, exitIps] };
}

export const serverNoun = nounOf('server', 'servers of the network', [
  {
    usage: 'list',
    list: true,
    summary: 'list the servers of the network',
    run: listAt('/servers', listed, {
      noun: 'servers',
      next: 'exitward server add <name>',
    }),
  },
  {
    usage: 'show <server>',
    list: true,
    summary: 'show a server with its exit IPs',
    run: async (given, api) => showServer(await api.get(given.path(server))),
  },
  {
    usage: 'add <name>',
    summary: 'add a server to the network',
    required: details,
    examples: [
      'exitward server add fra1 --hostname fra1.example.net --title Frankfurt --city Frankfurt --country DE --latitude 50.11 --longitude 8.68 --services proxy',
    ],
    options: [portSchemes],
    run: async (given, api) => {
      const body = { name: given.word('name'), ...given.fields };
      return showServer(await api.post('/servers', body), 'The server was added.');
    },
  },
  {
    usage: 'change <server>',
    summary: 'change the details of a server',
    options: [...details, portSchemes],
    run: async (given, api) => {
      const value = await api.patch(given.path(server), given.fields);
      return showServer(value, 'The server was changed.');
    },
  },
  {
    usage: 'renew-vpn-key <server>',
    summary: 'replace the VPN key of a server; its VPN passwords and shared keys stop working',
    question:
      'This ends all VPN passwords and shared keys of <server>, and its tunnels. Users need new profiles.',
    run: async (given, api) => {
      const value = await api.post(given.path(`${server}/vpn_key`));
      return showServer(value, 'The VPN key was renewed; create new profiles.');
    },
  },
  {
    usage: 'remove <server>',
    summary: 'remove a server from the network',
    question: 'This takes <server> out of the network, with its exit IPs and nodes.',
    extent: async (given, api) => {
      const { ip_count, nodes } = await api.get<{ ip_count: number; nodes: { all: number } }>(
        given.path(server),
      );
      return `It has ${ip_count} exit IPs and ${nodes.all} nodes; a node that is gone must join again.`;
    },
    run: removeAt(server, '<server> is removed.', { removed: '<server>' }),
  },
]);

export const exitNoun = nounOf('exit', 'exit IPs of a server', [
  {
    usage: 'add <server> <ip>',
    summary: 'add an exit IP, or move it to another port base',
    required: [
      ['--port-base <number>', 'port base, 0 to 499, unique on the server', 'port_base', whole],
    ],
    run: async (given, api) => {
      const value = await api.put<Row>(given.path(exit), given.fields);
      const { port_base } = given.fields;
      const added = (value.exit_ips as Row[]).find((exitIp) => exitIp.port_base === port_base);
      if (added?.confined) notify(added.confined as string);
      return showServer(value);
    },
  },
  {
    usage: 'remove <server> <ip>',
    summary: 'remove an exit IP',
    question: 'This removes the exit IP <ip> from <server>.',
    extent: async () => '"exitward exit add" undoes it.',
    run: removeAt(exit, '<ip> is removed.', { removed: '<ip>' }),
  },
]);
