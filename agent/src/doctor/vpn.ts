// The VPN: what the machine lacks to serve it. That is a problem only if the server has a VPN
// service; on a machine that has not joined yet it is a note.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fault, type Outcome, ok } from '../../../kit/src/doctor/check.ts';
import type { ServerValue } from '../../../kit/src/node_interface.ts';
import type { VpnService } from '../../../kit/src/vpn_password.ts';
import { Certificate } from '../certificate.ts';
import { outputOf } from '../required_programs.ts';
import { servedServices } from '../vpn/connections.ts';
import {
  findKernelLack,
  findLackOfL2tp,
  findTakenPort,
  type Lack,
  listLacks,
} from '../vpn/machine.ts';
import type { NodeCheck, Subject } from './subject.ts';

export const vpnChecks: NodeCheck[] = [
  {
    name: 'vpn',
    run: (subject) => examineService(subject, 'a VPN', servedServices, lacksOf),
  },
  {
    name: 'vpn-l2tp',
    run: (subject) => {
      const served = (server: ServerValue) =>
        servedServices(server).filter((service) => service === 'vpn-l2tp');
      return examineService(subject, 'vpn-l2tp', served, ({ config }) => [
        findLackOfL2tp(config.vpn),
      ]);
    },
  },
];

type Lacks = ReadonlyArray<Lack | undefined>;

/** The plugins of Debian's charon, and the packages of those that are not installed with it. */
const pluginFolder = '/usr/lib/ipsec/plugins';
const pluginPackages = {
  'eap-radius': 'libcharon-extra-plugins',
  openssl: 'libstrongswan-standard-plugins',
};

async function examineService(
  subject: Subject,
  name: string,
  servedBy: (server: ServerValue) => readonly VpnService[],
  find: (subject: Subject) => Promise<Lacks> | Lacks,
): Promise<Outcome | Outcome[]> {
  const { config, server } = subject;
  if (config.vpn.mode === 'off') return ok('The VPN is off (EXITWARD_AGENT_VPN).');
  const lacks = (await find(subject)).filter((lack) => lack !== undefined);
  if (lacks.length === 0) return ok(`This machine has what ${name} needs.`);
  if (!server) {
    return lacks.map(({ sentence, remedy }) => {
      return { ...ok(`To serve ${name}, this machine needs more: ${sentence}.`), remedy };
    });
  }
  if (servedBy(server).length > 0) {
    return lacks.map(({ sentence, remedy }) =>
      fault(`${server.name} cannot serve ${name}: ${sentence}.`, remedy),
    );
  }
  const sentences = lacks.map(({ sentence }) => sentence).join('; ');
  return ok(
    `${server.name} does not serve ${name}. If you add it, this machine needs more: ${sentences}.`,
  );
}

async function lacksOf(subject: Subject): Promise<Lacks> {
  const { config, server, status } = subject;
  const isServed = status && server && servedServices(server).length > 0;
  return [
    ...listLacks(config.vpn),
    ...pluginLacks(),
    await firewallLack(),
    await sealingLack(subject),
    // If the agent already serves a VPN, its own charon holds the ports.
    isServed ? undefined : await findTakenPort(),
    await certificateLack(subject),
  ];
}

function pluginLacks(): Lack[] {
  // A charon that is not Debian's reports itself what it could not load.
  if (!existsSync(pluginFolder)) return [];
  return Object.entries(pluginPackages)
    .filter(([name]) => !existsSync(join(pluginFolder, `libstrongswan-${name}.so`)))
    .map(([name, from]) => {
      return { sentence: `charon has no plugin ${name}`, remedy: `apt-get install ${from}` };
    });
}

/** Reads the rules, which needs the same rights as writing them. */
async function firewallLack(): Promise<Lack | undefined> {
  const tables = await outputOf('nft', 'list', 'tables').catch((error: Error) => error);
  if (tables === undefined)
    return { sentence: 'there is no nft', remedy: 'apt-get install nftables' };
  if (!(tables instanceof Error)) return undefined;
  return {
    sentence: `nftables rules cannot be read: ${tables.message}`,
    remedy: 'modprobe nf_tables',
  };
}

/** Whether packets can be encrypted; the kernel is tested in a short-lived namespace. */
async function sealingLack({ config }: Subject): Promise<Lack | undefined> {
  if (config.vpn.ipsec === 'userspace') {
    if (existsSync('/dev/net/tun')) return undefined;
    return { sentence: 'there is no /dev/net/tun', remedy: 'modprobe tun' };
  }
  return findKernelLack(config.vpn, ['unshare', '--net']);
}

async function certificateLack({ config, clock, server }: Subject): Promise<Lack | undefined> {
  const certificate = new Certificate(config, () => clock.now());
  await certificate.renew();
  // ACME issues the certificate after joining, since it is for the server's hostname.
  if (certificate.current || (config.acme && !server)) return undefined;
  return {
    sentence: 'there is no certificate',
    remedy: certificate.fault?.replace(/\.$/, '') ?? 'set EXITWARD_AGENT_ACME',
  };
}
