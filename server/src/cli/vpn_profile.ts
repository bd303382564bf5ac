// exitward user vpn-profile: what a user's devices need for the VPN of one or all servers, as
// values to type or as files.
import { UsageFault } from '../../../kit/src/cli/failures.ts';
import type { Column } from '../../../kit/src/cli/output.ts';
import { type OutputFile, shownFile, writeFiles } from '../../../kit/src/cli/output_files.ts';
import { replaceDurably } from '../../../kit/src/durable.ts';
import { expiry } from './columns.ts';
import type { Verb } from './command.ts';
import { lifetime } from './values.ts';

interface ProfileFile extends OutputFile {
  format: string;
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
    const profile = await api.post<Profile>(
      given.path('/accounts/<account>/users/<user>/vpn-profile'),
      { ...given.fields, server: named },
    );
    const [wanted, output] = [given.option('format'), given.option('output')];
    const files = profile.files.filter((file) => wanted === undefined || file.format === wanted);
    if (output !== undefined) {
      if (files.length === 0) throw new UsageFault('--output: there is no file for these servers');
      return writeFiles(files, String(output), wanted === undefined, replaceDurably);
    }
    if (wanted !== undefined) {
      const [file, ...others] = files;
      if (!file) throw new UsageFault(`--format: there is no file for ${wanted} of these servers`);
      return shownFile(file, ...others);
    }
    const records = profile.servers.map((record) => ({ record: { ...record }, columns: server }));
    return {
      value: profile,
      parts: [{ record: { ...profile }, columns: login }, ...records],
      sentence: 'The passwords are not stored; they are the same each time.',
    };
  },
};
