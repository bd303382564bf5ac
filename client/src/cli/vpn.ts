// exw vpn: profiles for the VPN of one or all servers, and whether this machine uses a VPN.
import { UsageFault } from '../../../kit/src/cli/failures.ts';
import type { Option } from '../../../kit/src/cli/options.ts';
import type { Column, Shown } from '../../../kit/src/cli/output.ts';
import {
  profileFormats,
  profileParts,
  takeFiles,
  type VpnProfile,
} from '../../../kit/src/cli/vpn_profile.ts';
import { lifetimeUntil } from './account.ts';
import { command } from './command.ts';
import { asPerson, type Person, personNotes, personOptions } from './person.ts';
import { address, isSameAddress, time } from './values.ts';
import { writePrivate } from './written.ts';

const server = {
  server: {
    summary: 'server (default: all on the contract)',
    read: String,
    optional: true,
  },
} as const;
const options = {
  ...personOptions,
  exit: {
    summary: 'exit IP of the server to connect to',
    field: 'exit_ip',
    value: '<ip>',
    read: address,
  },
  expiry: {
    summary: 'when the passwords expire (default: when your token version is raised)',
    field: 'lifetime_seconds',
    value: '<time>',
    read: time,
  },
} as const satisfies Record<string, Option>;

interface Wanted {
  server?: string | undefined;
  exit?: string | undefined;
  expiry?: number | undefined;
}

const makeProfile = (person: Person, { server, exit, expiry }: Wanted) =>
  person.send<VpnProfile>('POST', `/users/${encodeURIComponent(person.user)}/vpn-profile`, {
    server,
    exit_ip: exit,
    lifetime_seconds: expiry === undefined ? undefined : lifetimeUntil(expiry),
  });

const vpnLogin = command({
  name: 'vpn login',
  summary: 'print the VPN settings to enter on a device: address, login, password, shared key',
  arguments: server,
  options,
  notes: personNotes,
  run: async ({ arguments: { server }, options }, session): Promise<Shown> => {
    const wanted = { ...options, server };
    const profile = await asPerson(session, options, (person) => makeProfile(person, wanted));
    const { files: _, ...value } = profile;
    return { value, parts: profileParts(profile) };
  },
});

const vpnProfile = command({
  name: 'vpn profile',
  summary: 'create VPN profiles for devices',
  arguments: server,
  options: {
    ...options,
    format: {
      summary: 'only this format, to standard output or --output',
      value: '<name>',
      choices: profileFormats,
      read: String,
    },
    output: {
      summary: 'folder to write to; with --format, the file',
      value: '<path>',
      read: String,
    },
  },
  notes: `${personNotes}\nOnly you can read the files: most of them contain a password.`,
  run: async ({ arguments: { server }, options }, session) => {
    const { format, output } = options;
    if (format === undefined && output === undefined) {
      throw new UsageFault(
        `--format: expected ${profileFormats.join(', ')}; or a folder as --output`,
      );
    }
    const wanted = { ...options, server };
    const profile = await asPerson(session, options, (person) => makeProfile(person, wanted));
    return takeFiles(profile, format, output, writePrivate);
  },
});

interface SeenServer {
  server: string;
  hostname: string;
  ips: Array<{ ip: string; vpn: Array<{ service: string; status: string }> }>;
}

const vpnStatus = command({
  name: 'vpn status',
  list: true,
  summary: 'list exits with a VPN and their health, and show whether this machine uses one',
  options: personOptions,
  notes: `${personNotes}
The service reports the address that it sees this machine at: that of an exit if all traffic goes through the VPN.`,
  run: async (given, session): Promise<Shown> => {
    const [servers, { ip: address }] = await asPerson(session, given.options, (person) =>
      Promise.all([
        person.send<SeenServer[]>('GET', '/servers'),
        person.send<{ ip: string }>('GET', '/address'),
      ]),
    );
    const exits = servers.flatMap(({ server, hostname, ips }) =>
      ips
        .filter(({ vpn }) => vpn.length > 0)
        .map(({ ip, vpn }) => {
          const services = vpn.map(({ service, status }) => `${service} ${status}`);
          return { server, hostname, ip, services, used: isSameAddress(ip, address) };
        }),
    );
    const used = exits.find((exit) => exit.used);
    return {
      value: { address, exits },
      parts: [{ rows: exits, columns: exitColumns, empty: { noun: 'exit IPs with a VPN' } }],
      sentence: used
        ? `This machine uses ${used.ip}, an exit of ${used.server}.`
        : `The service sees this machine at ${address}, which is none of these exits.`,
    };
  },
});

const exitColumns: Column[] = [
  'server',
  'hostname',
  ['exit IP', 'ip'],
  ['services', 'services', 'list'],
  'used',
];

export const vpnCommands = [vpnProfile, vpnLogin, vpnStatus] as const;
