// exitward contract …, exitward port-scheme …: the servers and ports of contracts.
import { Failure, type Noun, UsageFault } from './command.ts';
import { type Column, done, record, table } from './output.ts';
import { sizeOrNone } from './values.ts';

type Row = Record<string, unknown>;

const contractColumns: Column[] = [
  ['server', 'server'],
  ['hostname', 'hostname'],
  ['own limit', 'limit_bytes', 'bytes'],
  ['usage', 'usage.current', 'bytes'],
  ['over', 'over_limit'],
  ['added', 'added_at', 'time'],
];
const contractPath = '<account> <server>';

export const contractNoun: Noun = {
  name: 'contract',
  summary: 'servers on the contract of an account',
  verbs: [
    {
      usage: 'list <account>',
      summary: 'list the servers on a contract',
      run: async (given, api) =>
        table(await api.get<Row[]>(`/accounts/${given.part('account')}/servers`), contractColumns),
    },
    {
      usage: `add ${contractPath}`,
      summary: 'add a server to a contract',
      options: [
        {
          flags: '--limit <size>',
          description: 'own limit of the server on this contract',
          parse: sizeOrNone,
          field: 'limit_bytes',
        },
      ],
      run: async (given, api) => {
        const path = `/accounts/${given.part('account')}/servers/${given.part('server')}`;
        return record(await api.put<Row>(path, given.fields), contractColumns);
      },
    },
    {
      usage: `limit ${contractPath} <size>`,
      summary: 'change the own limit of a server on a contract; "none" lifts it',
      run: async (given, api) => {
        const body = { limit_bytes: given.parsed('size', sizeOrNone) };
        const path = `/accounts/${given.part('account')}/servers/${given.part('server')}`;
        // Only a server on the contract has a limit there: a slip of the pen must not add one.
        const servers = await api.get<Row[]>(`/accounts/${given.part('account')}/servers`);
        if (!servers.some((one) => one.server === given.word('server'))) {
          throw new Failure(`${given.word('server')} is not on the contract; add it first.`);
        }
        return record(await api.put<Row>(path, body), contractColumns);
      },
    },
    {
      usage: `remove ${contractPath}`,
      summary: 'take a server off a contract',
      question: (given) =>
        `This takes ${given.word('server')} off the contract of ${given.word('account')}: its connections there end.`,
      run: async (given, api) => {
        await api.delete(`/accounts/${given.part('account')}/servers/${given.part('server')}`);
        return done(`${given.word('server')} is off the contract.`, {
          removed: given.word('server'),
        });
      },
    },
  ],
};

function base(text: string): { base: number; service: string } {
  const [, port, service = ''] = /^(\d{1,5}):(proxy|proxy-https)$/.exec(text) ?? [];
  if (!port)
    throw new UsageFault(
      `${JSON.stringify(text)}: expected a port and its service, such as 10000:proxy or 12000:proxy-https`,
    );
  return { base: Number(port), service };
}

interface Scheme extends Row {
  bases: Array<{ base: number; service: string }>;
}

function schemeRows(schemes: Scheme[]): Row[] {
  return schemes.map(({ name, bases }) => ({
    name,
    bases: bases.map((one) => `${one.base}:${one.service}`),
  }));
}

export const portSchemeNoun: Noun = {
  name: 'port-scheme',
  summary: 'ports that lead to exit IPs',
  verbs: [
    {
      usage: 'list',
      summary: 'list port schemes',
      run: async (_given, api) => {
        const value = await api.get<Scheme[]>('/port_schemes');
        return {
          ...table(schemeRows(value), [
            ['name', 'name'],
            ['bases', 'bases', 'list'],
          ]),
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
  ],
};
