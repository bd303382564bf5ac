// exw exits: the exit IPs of the contract's servers, as a table or as lists for other programs.

import { Failure, UsageFault } from '../../../kit/src/cli/failures.ts';
import type { Option, OptionValues } from '../../../kit/src/cli/options.ts';
import { type Column, type Shown, table } from '../../../kit/src/cli/output.ts';
import { list } from '../../../kit/src/cli/values.ts';
import { jsonText } from '../../../kit/src/visible.ts';
import type { ContractServer, ExitIp } from '../openapi.ts';
import { proxyUrl } from '../proxy_url.ts';
import { command } from './command.ts';
import { type Account, readToken } from './session.ts';
import { port } from './values.ts';

/** The options that select a port of an exit IP. */
export const portOptions = {
  override: { summary: 'use the override port, where custom DNS entries apply' },
  service: {
    summary: 'proxy-https uses TLS to the proxy (default: proxy)',
    value: '<proxy|proxy-https>',
    choices: ['proxy', 'proxy-https'],
    read: (text: string) => text as 'proxy' | 'proxy-https',
  },
  'base-port': {
    summary: "base port of the port scheme to use (default: the account's first)",
    value: '<port>',
    read: port,
  },
  host: {
    summary: 'name or address to use instead of the hostname of the server',
    value: '<host>',
    read: String,
  },
} as const satisfies Record<string, Option>;

/** The options by which a user signs in to the proxy. */
export const credentialOptions = {
  user: {
    completes: 'users',
    summary: 'proxy user; requires --token-file',
    value: '<name>',
    read: String,
  },
  'token-file': {
    summary: "file with the user's token; - for standard input",
    value: '<file>',
    read: String,
  },
} as const satisfies Record<string, Option>;

type PortOptions = OptionValues<typeof portOptions>;

/** The name and password for the proxy. */
export interface Credentials {
  user: string;
  token: string;
}

/**
 * The options with the base of the account's port scheme; unchanged if the service does not report
 * it.
 * Errors: a failure if the scheme has no port for the requested service.
 */
export async function withBasePort<T extends PortOptions>(
  { client }: Account,
  options: T,
): Promise<T> {
  if (options['base-port'] !== undefined) return options;
  // A service that is not Exitward may answer there with anything.
  const { ports } = await client.index().catch((): { ports?: unknown } => ({}));
  if (!Array.isArray(ports)) return options;
  const { service = 'proxy' } = options;
  const entry = ports.find((port) => port?.service === service);
  if (!entry) throw new Failure(`The port scheme of the account has no port for ${service}.`);
  return { ...options, 'base-port': entry.base };
}

/** The URL of an exit IP's proxy. Errors: a usage fault for a base that gives no valid port. */
export function urlOf(
  server: ContractServer,
  { ip }: ExitIp,
  { override, service, 'base-port': basePort, host }: PortOptions,
  credentials?: Credentials,
): string {
  try {
    return proxyUrl({
      server: { ...server, hostname: hostOf(server, host) },
      exit: ip,
      override,
      ...(service ? { service } : {}),
      ...(basePort === undefined ? {} : { basePort }),
      ...credentials,
    });
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new UsageFault(error.message.replace('basePort', '--base-port'));
  }
}

function hostOf({ hostname }: ContractServer, host: string | undefined): string {
  return host?.includes(':') ? `[${host}]` : (host ?? hostname);
}

/**
 * The servers of the contract that have a proxy, all or only those with these names.
 * Errors: a failure for a name that is not on the contract.
 */
async function proxyServers(
  { client, variant }: Account,
  names: readonly string[] | undefined,
  service: string = 'proxy',
): Promise<ContractServer[]> {
  const filter = names ? { server: names } : {};
  const servers = await client.contract.servers.list({ ...filter, detail: ['location'] });
  const unknown = names?.find((name) => !servers.some(({ server }) => server === name));
  if (unknown !== undefined) throw new Failure(`${unknown} is not on the contract.`);
  // The earlier variant has one service for both.
  const wanted = variant === 'earlier' ? 'proxy' : service;
  return servers.filter(({ services }) => services.includes(wanted));
}

/**
 * The exit to use: the requested one, else the first that works.
 * Errors: a failure when there is none.
 */
export async function selectExit(
  account: Account,
  wanted: { server?: string | undefined; exit?: string | undefined; service?: string | undefined },
): Promise<{ server: ContractServer; exit: ExitIp }> {
  const names = wanted.server === undefined ? undefined : [wanted.server];
  const servers = await proxyServers(account, names, wanted.service);
  const exits = servers
    .flatMap((server) => server.ips.map((exit) => ({ server, exit })))
    .filter(({ exit }) => wanted.exit === undefined || exit.ip === wanted.exit);
  const selected = exits.find(({ exit }) => exit.status === 'ok') ?? exits[0];
  if (selected) return selected;
  const missing = wanted.exit === undefined ? `${wanted.service ?? 'proxy'} service` : wanted.exit;
  throw new Failure(`${wanted.server ?? 'The contract'} has no ${missing}.`);
}

const columns: Column[] = [
  'server',
  'hostname',
  ['exit IP', 'ip'],
  'port',
  ['status', 'status', 'state'],
  ['checked', 'status_time', 'past'],
  'city',
  'country',
];

interface ExitRow {
  server: string;
  hostname: string;
  ip: string;
  port: number;
  status: string;
  status_time: number;
  city: string;
  country: string;
  url: string;
}

const rowsOf = (
  servers: ContractServer[],
  options: PortOptions,
  credentials: Credentials | undefined,
): ExitRow[] =>
  servers.flatMap((server) =>
    server.ips.map((exit) => {
      const url = urlOf(server, exit, options, credentials);
      const { server: name, location } = server;
      const { ip, status, status_time } = exit;
      return {
        server: name,
        hostname: hostOf(server, options.host),
        ip,
        port: Number(/\d+$/.exec(url)?.[0]),
        status,
        status_time,
        city: location?.city ?? '',
        country: location?.country ?? '',
        url,
      };
    }),
  );

const formats = {
  url: (rows: ExitRow[]) => rows.map(({ url }) => `${url}\n`).join(''),
  txt: (rows: ExitRow[], credentials: Credentials | undefined) => {
    const more = credentials ? `:${credentials.user}:${credentials.token}` : '';
    return rows.map(({ hostname, port }) => `${hostname}:${port}${more}\n`).join('');
  },
  csv: (rows: ExitRow[]) => {
    const names = [
      'server',
      'hostname',
      'ip',
      'port',
      'status',
      'status_time',
      'city',
      'country',
      'url',
    ] as const;
    const quoted = (value: unknown) =>
      /[",\r\n]/.test(String(value)) ? `"${String(value).replaceAll('"', '""')}"` : String(value);
    const lines = rows.map((row) => names.map((name) => quoted(row[name])));
    return [names, ...lines].map((cells) => `${cells.join(',')}\n`).join('');
  },
  json: (rows: ExitRow[]) => `${jsonText(rows)}\n`,
};

export const exits = command({
  name: 'exits',
  examples: ['exw exits --server fra1,ams1 --format txt', 'exw exits --format csv'],
  list: true,
  summary: 'list the exit IPs on your contract, and the port of each',
  options: {
    server: {
      filter: true,
      completes: 'servers',
      summary: 'only these servers',
      value: '<names>',
      read: list,
    },
    format: {
      summary: 'url: http://host:port; txt: host:port; csv: with a header',
      value: '<name>',
      choices: ['url', 'txt', 'csv', 'json'],
      read: (text: string) => text as keyof typeof formats,
    },
    ...credentialOptions,
    ...portOptions,
  },
  run: async ({ options }, session): Promise<Shown> => {
    const credentials = await credentialsOf(options.user, options['token-file']);
    const account = await session.account();
    const servers = await proxyServers(account, options.server, options.service);
    const rows = rowsOf(servers, await withBasePort(account, options), credentials);
    if (!options.format)
      return table(rows, columns, { noun: 'exit IPs on the contract', next: 'exw servers' });
    return { value: rows, parts: [{ text: formats[options.format](rows, credentials) }] };
  },
});

/** Errors: a usage fault for a user or a token alone; a failure when the file cannot be read. */
export async function credentialsOf(
  user: string | undefined,
  file: string | undefined,
): Promise<Credentials | undefined> {
  if (user === undefined && file === undefined) return undefined;
  if (user === undefined || file === undefined) {
    throw new UsageFault('--user, --token-file: expected both, or neither');
  }
  return { user, token: await readToken(file) };
}
