// exitward server, exit, inventory, contract, port-scheme: the network, and what contracts get of it.
import { readFileSync } from 'node:fs';
import { InvalidArgumentError } from 'commander';
import { type Choice, Failure, type Noun, UsageFault } from './command.ts';
import { type Column, done, record, table } from './output.ts';
import { decimal, list, sizeOrNone, whole } from './values.ts';

type Row = Record<string, unknown>;

const listed: Column[] = [
  ['NAME', 'name'], ['HOSTNAME', 'hostname'], ['TITLE', 'title'], ['CITY', 'city'], ['COUNTRY', 'country'],
  ['EXIT IPS', 'ip_count'], ['SERVICES', 'services', 'list'], ['PORT SCHEMES', 'port_schemes', 'list'],
];
const known: Column[] = [
  ['name', 'name'], ['hostname', 'hostname'], ['title', 'title'], ['city', 'city'], ['country', 'country'],
  ['latitude', 'latitude'], ['longitude', 'longitude'], ['services', 'services', 'list'],
  ['port schemes', 'port_schemes', 'list'], ['contracts', 'contracts'], ['exit IPs', 'ip_count'],
];
const exitColumns: Column[] = [
  ['EXIT IP', 'ip'], ['PORT BASE', 'port_base'], ['STATUS', 'status'], ['CHECKED', 'status_time', 'time'],
];

/** What is said of a server; `required` when it is added. */
function details(required: boolean): Choice[] {
  return [
    { flags: '--hostname <hostname>', description: 'fully-qualified domain name', field: 'hostname', required },
    { flags: '--title <text>', description: 'usually the closest metro area', field: 'title', required },
    { flags: '--city <text>', description: 'city that houses it', field: 'city', required },
    { flags: '--country <code>', description: 'ISO 3166 code such as DE', field: 'country', required },
    { flags: '--latitude <degrees>', description: '-90 to 90', parse: decimal, field: 'latitude', required },
    { flags: '--longitude <degrees>', description: '-180 to 180', parse: decimal, field: 'longitude', required },
    { flags: '--services <words>', description: 'such as proxy,proxy-https', parse: list, field: 'services', required },
    { flags: '--port-schemes <names>', description: 'port schemes that it listens on', parse: list, field: 'port_schemes' },
  ];
}

function showServer(value: Row, sentence?: string) {
  const shown = record(value, known, sentence);
  return { ...shown, parts: [...shown.parts, { rows: value.exit_ips as Row[], columns: exitColumns }] };
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
        showServer(await api.post<Row>('/servers', { name: given.word('name'), ...given.fields }), 'The server was added.'),
    },
    {
      usage: 'change <server>',
      summary: 'change what is known of a server',
      options: details(false),
      run: async (given, api) =>
        showServer(await api.patch<Row>(`/servers/${given.part('server')}`, given.fields), 'The server was changed.'),
    },
    {
      usage: 'remove <server>',
      summary: 'take a server out of the network',
      question: (given) => `This takes ${given.word('server')} out of the network, with its exit IPs and nodes.`,
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
        { flags: '--port-base <number>', description: '0 to 499, once per server', parse: whole, field: 'port_base', required: true },
      ],
      run: async (given, api) => {
        const path = `/servers/${given.part('server')}/exits/${given.part('ip')}`;
        return showServer(await api.put<Row>(path, given.fields));
      },
    },
    {
      usage: 'remove <server> <ip>',
      summary: 'remove an exit IP',
      question: (given) => `This takes the exit IP ${given.word('ip')} off ${given.word('server')}.`,
      run: async (given, api) => {
        await api.delete(`/servers/${given.part('server')}/exits/${given.part('ip')}`);
        return done(`${given.word('ip')} is removed.`, { removed: given.word('ip') });
      },
    },
  ],
};

interface Summary extends Row {
  dry_run: boolean;
  changed: Array<{ name: string; fields: string[] }>;
  added: string[];
  removed: string[];
}

export const inventoryNoun: Noun = {
  name: 'inventory',
  summary: 'the whole network from one file',
  verbs: [
    {
      usage: 'import <file>',
      summary: 'import servers and exit IPs from a .json or .csv file, all or nothing',
      options: [
        { flags: '--dry-run', description: 'only tell what would change' },
        { flags: '--remove-missing', description: 'servers that are not in the file go' },
      ],
      question: (given) =>
        given.has('removeMissing') && !given.has('dryRun')
          ? `This removes every server that is not in ${given.word('file')}.`
          : undefined,
      run: async (given, api) => {
        const { bytes, type } = readInventoryFile(given.word('file'));
        const query = `?dry_run=${given.has('dryRun')}${given.has('removeMissing') ? '&remove_missing=true' : ''}`;
        const value = await api.postText<Summary>(`/inventory${query}`, bytes, type);
        const rows = [
          ...value.added.map((name) => ({ what: 'added', name, fields: [] as string[] })),
          ...value.changed.map(({ name, fields }) => ({ what: 'changed', name, fields })),
          ...value.removed.map((name) => ({ what: 'removed', name, fields: [] as string[] })),
        ];
        const sentence = `${value.dry_run ? 'Would change' : 'Changed'}: ${value.added.length} added, ${value.changed.length} changed, ${value.removed.length} removed, ${value.unchanged} unchanged; exit IPs: ${value.exit_ips_added} added, ${value.exit_ips_removed} removed.`;
        return { value, sentence, parts: [{ rows, columns: [['WHAT', 'what'], ['SERVER', 'name'], ['FIELDS', 'fields', 'list']] }] };
      },
    },
  ],
};

function readInventoryFile(file: string): { bytes: Buffer; type: string } {
  const type = { json: 'application/json', csv: 'text/csv' }[/\.(json|csv)$/i.exec(file)?.[1]?.toLowerCase() ?? ''];
  if (!type) throw new UsageFault(`${file}: expected a file that ends in .json or .csv.`);
  try {
    return { bytes: readFileSync(file), type };
  } catch (error) {
    throw new Failure(`${file} cannot be read (${(error as NodeJS.ErrnoException).code}).`);
  }
}

const contractColumns: Column[] = [
  ['SERVER', 'server'], ['HOSTNAME', 'hostname'], ['OWN LIMIT', 'limit_bytes', 'bytes'],
  ['USAGE', 'usage', 'bytes'], ['OVER', 'over_limit'], ['ADDED', 'added_at', 'time'],
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
        { flags: '--limit <size>', description: 'own limit of the server on this contract', parse: sizeOrNone, field: 'limit_bytes' },
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
        const path = `/accounts/${given.part('account')}/servers/${given.part('server')}`;
        // Only what is on the contract has a limit there: a slip of the pen must not add a server.
        const servers = await api.get<Row[]>(`/accounts/${given.part('account')}/servers`);
        if (!servers.some((one) => one.server === given.word('server'))) {
          throw new Failure(`${given.word('server')} is not on the contract; add it first.`);
        }
        const body = { limit_bytes: given.parsed('size', sizeOrNone) };
        return record(await api.put<Row>(path, body), contractColumns);
      },
    },
    {
      usage: `remove ${contractPath}`,
      summary: 'take a server off a contract',
      question: (given) => `This takes ${given.word('server')} off the contract of ${given.word('account')}: its connections there end.`,
      run: async (given, api) => {
        await api.delete(`/accounts/${given.part('account')}/servers/${given.part('server')}`);
        return done(`${given.word('server')} is off the contract.`, { removed: given.word('server') });
      },
    },
  ],
};

function base(text: string): { base: number; service: string } {
  const [, port, service = ''] = /^(\d{1,5}):(proxy|proxy-https)$/.exec(text) ?? [];
  if (!port) throw new InvalidArgumentError(`${text}: expected a port and its service, such as 10000:proxy or 12000:proxy-https.`);
  return { base: Number(port), service };
}

interface Scheme extends Row {
  bases: Array<{ base: number; service: string }>;
}

function schemeRows(schemes: Scheme[]): Row[] {
  return schemes.map(({ name, bases }) => ({ name, bases: bases.map((one) => `${one.base}:${one.service}`) }));
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
        return { ...table(schemeRows(value), [['NAME', 'name'], ['BASES', 'bases', 'list']]), value };
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
