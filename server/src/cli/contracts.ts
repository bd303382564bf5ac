// exitward contract …, exitward port-scheme …: the servers and ports of contracts.

import { Failure, UsageFault } from '../../../kit/src/cli/failures.ts';
import { type Column, done, record, table } from '../../../kit/src/cli/output.ts';
import { quoted } from '../../../kit/src/quoted.ts';
import { listAt, removeAt } from './actions.ts';
import type { Row } from './columns.ts';
import { nounOf } from './command.ts';
import { questionOfOwnLimit } from './cut_off.ts';
import type { Choice } from './given.ts';
import { sizeOrNone } from './values.ts';

const servers = '/accounts/<account>/servers';
const server = `${servers}/<server>`;

const contractColumns: Column[] = [
  'server',
  'hostname',
  ['own limit', 'limit_bytes', 'bytes'],
  ['usage', 'usage.current', 'bytes'],
  ['over', 'over_limit', 'alarm'],
  ['added', 'added_at', 'past'],
];
const noServers = {
  noun: 'servers on the contract',
  next: 'exitward contract add <account> <servers>',
};
const ownLimit: Choice = [
  '--limit <size>',
  'traffic limit of each added server',
  'limit_bytes',
  sizeOrNone,
];

export const contractNoun = nounOf('contract', 'servers on a contract', [
  {
    usage: 'list <account>',
    list: true,
    summary: 'list the servers on a contract',
    run: listAt(servers, contractColumns, noServers),
  },
  {
    usage: 'add <account> <servers...>',
    summary: 'add servers to a contract',
    options: [ownLimit],
    question: async (given, api) =>
      given.has('limit')
        ? questionOfOwnLimit(
            given,
            api,
            given.parsedAll('servers', String),
            given.fields.limit_bytes as number | null,
          )
        : undefined,
    examples: ['exitward contract add acme fra1 ams1 --limit 100GB'],
    run: async (given, api) => {
      const added: Row[] = [];
      for (const name of given.parsedAll('servers', String)) {
        const path = `${given.path(servers)}/${encodeURIComponent(name)}`;
        const contractServer = await api.put(path, given.fields).catch((error: Error) => {
          if (added.length === 0) throw error;
          const before = added.map(({ server: name }) => name).join(', ');
          throw new Failure(`${error.message} Already added: ${before}.`);
        });
        added.push(contractServer);
      }
      const [first] = added;
      return added.length === 1 && first
        ? record(first, contractColumns)
        : table(added, contractColumns, noServers);
    },
  },
  {
    usage: 'limit <account> <server> <size>',
    sets: { size: 'limit_bytes' },
    summary: 'set the traffic limit of a server on a contract; "none" removes it',
    question: (given, api) =>
      questionOfOwnLimit(given, api, [given.word('server')], given.parsed('size', sizeOrNone)),
    run: async (given, api) => {
      const body = { limit_bytes: given.parsed('size', sizeOrNone) };
      // Only a server on the contract has a limit there: a typo must not add a server.
      const added = await api.list(given.path(servers));
      if (!added.some((row) => row.server === given.word('server'))) {
        throw new Failure(given.text('<server> is not on the contract; add it first.'));
      }
      return record(await api.put(given.path(server), body), contractColumns);
    },
  },
  {
    usage: 'remove <account> <server>',
    summary: 'remove a server from a contract',
    question: 'This removes <server> from the contract of <account>: its connections there end.',
    extent: async (given) => given.text('"exitward contract add <account> <server>" undoes it.'),
    run: removeAt(server, '<server> was removed from the contract.', { removed: '<server>' }),
  },
]);

interface Base {
  base: number;
  service: string;
}

interface PortScheme {
  name: string;
  bases: Base[];
  accounts: number;
  servers: number;
}

function base(text: string): Base {
  const [, port, service = ''] = /^(\d{1,5}):(proxy|proxy-https)$/.exec(text) ?? [];
  if (!port)
    throw new UsageFault(
      `${quoted(text)}: expected a port and its service, such as 10000:proxy or 12000:proxy-https`,
    );
  return { base: Number(port), service };
}

const scheme = '/port_schemes/<scheme>';

export const portSchemeNoun = nounOf('port-scheme', 'ports of the exit IPs', [
  {
    usage: 'list',
    list: true,
    summary: 'list port schemes',
    run: async (_given, api) => {
      const value = await api.list<PortScheme>('/port_schemes');
      const rows = value.map(({ name, bases, ...counts }) => ({
        name,
        bases: bases.map((entry) => `${entry.base}:${entry.service}`),
        ...counts,
      }));
      return {
        ...table(rows, ['name', ['bases', 'bases', 'list'], 'accounts', 'servers'], {
          noun: 'port schemes',
          next: 'exitward port-scheme add <name> <bases>',
        }),
        value,
      };
    },
  },
  {
    usage: 'add <name> <bases...>',
    summary: 'add a port scheme, such as: add high 20000:proxy 22000:proxy-https',
    run: async (given, api) => {
      const body = { name: given.word('name'), bases: given.parsedAll('bases', base) };
      await api.post('/port_schemes', body);
      return done(`The port scheme ${body.name} was added.`, body);
    },
  },
  {
    usage: 'change <scheme> <bases...>',
    summary: "set the ports of a port scheme; ports that accounts use can't be removed",
    run: async (given, api) => {
      const body = { bases: given.parsedAll('bases', base) };
      const value = await api.patch(given.path(scheme), body);
      return done(given.text('The ports of <scheme> were changed.'), value);
    },
  },
  {
    usage: 'remove <scheme>',
    summary: 'remove a port scheme that no account or server uses',
    question: 'This removes the port scheme <scheme>.',
    extent: async () => '"exitward port-scheme add" undoes it.',
    run: removeAt(scheme, 'The port scheme <scheme> is removed.', {
      removed: '<scheme>',
    }),
  },
]);
