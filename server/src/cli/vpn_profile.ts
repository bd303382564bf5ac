// exitward user vpn-profile: what a user's devices need for the VPN of one or all servers, as
// values to type or as files.
import { mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { Failure, UsageFault } from '../../../kit/src/cli/failures.ts';
import { type Column, done, type Shown } from '../../../kit/src/cli/output.ts';
import { replaceDurably } from '../../../kit/src/durable.ts';
import { expiry } from './columns.ts';
import type { Verb } from './command.ts';
import { lifetime } from './values.ts';

interface ProfileFile {
  format: string;
  name: string;
  encoding: 'utf-8' | 'base64';
  content: string;
}

interface Profile {
  login: string;
  expiry: number | null;
  servers: object[];
  files: ProfileFile[];
}

const formats = ['apple', 'windows', 'android', 'networkmanager', 'strongswan'];
const login: Column[] = ['login', expiry];
const server: Column[] = [
  'server',
  ['services', 'services', 'list'],
  'hostname',
  'exit_ip',
  ['exit ips', 'exit_ips', 'list'],
  'password',
  'shared_key',
];

function format(text: string): string {
  if (formats.includes(text)) return text;
  throw new UsageFault(`expected ${formats.join(', ')}`);
}

export const vpnProfile: Verb = {
  usage: 'vpn-profile <account> <user> [server]',
  summary: 'make what devices of a user need for the VPN of a server, or of all',
  options: [
    [
      '--exit <ip>',
      'the exit of that server that the files dial; its first when omitted',
      'exit_ip',
    ],
    [
      '--lifetime <lifetime>',
      'how long the passwords hold; without: as the token version',
      'lifetime_seconds',
      lifetime,
    ],
    ['--format <format>', `this file alone: ${formats.join(', ')}`, undefined, format],
    [
      '--output <path>',
      'write the files into this folder, or the one of --format to this file, for you alone to read',
    ],
  ],
  run: async (given, api) => {
    const [named] = given.parsedAll('server', String);
    const body = { ...given.fields, ...(named === undefined ? {} : { server: named }) };
    const profile = await api.post<Profile>(
      given.path('/accounts/<account>/users/<user>/vpn-profile'),
      body,
    );
    const [wanted, output] = [given.option('format'), given.option('output')];
    const files = profile.files.filter((file) => wanted === undefined || file.format === wanted);
    if (output !== undefined) return written(files, String(output), wanted === undefined);
    if (wanted !== undefined) return printed(files, String(wanted));
    const records = profile.servers.map((record) => ({ record: { ...record }, columns: server }));
    return {
      value: profile,
      parts: [{ record: { ...profile }, columns: login }, ...records],
      sentence: 'The passwords are not stored; they are the same each time.',
    };
  },
};

/**
 * The one file. Errors: a usage fault when there are none or several, or when a terminal cannot
 * show it.
 */
function printed(files: ProfileFile[], wanted: string): Shown {
  const [file, ...others] = files;
  if (!file) throw new UsageFault(`--format: there is no file for ${wanted} of these servers`);
  if (others.length > 0) {
    throw new UsageFault('--output: expected a folder, as there is a file for each server');
  }
  const bytes = bytesOf(file);
  if (file.encoding === 'base64' && process.stdout.isTTY) {
    throw new UsageFault('--output: expected a file, as a signed profile is no text');
  }
  return { value: file, parts: [], bytes };
}

/** Errors: a failure that says which file cannot be written. */
function written(files: ProfileFile[], output: string, isFolder: boolean): Shown {
  if (files.length === 0) throw new UsageFault('--output: there is no file for these servers');
  const isThere = statSync(output, { throwIfNoEntry: false })?.isDirectory();
  const isIntoFolder = isFolder || files.length > 1 || isThere;
  const paths = files.map((file) => (isIntoFolder ? join(output, file.name) : output));
  try {
    if (isIntoFolder) mkdirSync(output, { recursive: true, mode: 0o700 });
    for (const [at, file] of files.entries()) replaceDurably(paths[at] as string, bytesOf(file));
  } catch (error) {
    const { path, code } = error as NodeJS.ErrnoException;
    throw new Failure(`${path ?? output} cannot be written (${code}).`);
  }
  return done(`Written for you alone to read:\n- ${paths.join('\n- ')}`, { files: paths });
}

const bytesOf = ({ content, encoding }: ProfileFile) => Buffer.from(content, encoding);
