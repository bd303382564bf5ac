// exitward user vpn-profile: what a user's devices need for the VPN of one or all servers, as
// values to type or as files.
import { UsageFault } from '../../../kit/src/cli/failures.ts';
import {
  profileFormats,
  profileParts,
  takeFiles,
  type VpnProfile,
} from '../../../kit/src/cli/vpn_profile.ts';
import { replaceDurably } from '../../../kit/src/durable.ts';
import type { Verb } from './command.ts';
import { lifetime } from './values.ts';

function format(text: string): string {
  if (profileFormats.includes(text)) return text;
  throw new UsageFault(`expected ${profileFormats.join(', ')}`);
}

export const vpnProfile: Verb = {
  usage: 'vpn-profile <account> <user> [server]',
  summary: "create VPN profiles for a user's devices, for one server or all",
  options: [
    ['--exit <ip>', 'exit IP of the server to connect to (default: its first)', 'exit_ip'],
    [
      '--lifetime <lifetime>',
      'how long the passwords are valid (default: until the token version is raised)',
      'lifetime_seconds',
      lifetime,
    ],
    ['--format <format>', `only this format: ${profileFormats.join(', ')}`, undefined, format],
    ['--output <path>', 'folder to write to; with --format, the file; only you can read it'],
  ],
  run: async (given, api) => {
    const [named] = given.parsedAll('server', String);
    const profile = await api.post<VpnProfile>(
      given.path('/accounts/<account>/users/<user>/vpn-profile'),
      { ...given.fields, server: named },
    );
    const wanted = given.option('format') as string | undefined;
    const output = given.option('output') as string | undefined;
    if (wanted !== undefined || output !== undefined) {
      return takeFiles(profile, wanted, output, replaceDurably);
    }
    return {
      value: profile,
      parts: profileParts(profile),
      sentence: 'The passwords are not stored; they are the same each time.',
    };
  },
};
