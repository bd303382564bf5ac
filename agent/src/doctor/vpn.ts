// The VPN: all that the machine lacks for it. That is a fault only where the server has a VPN service; a machine that has not joined yet hears of it.
import { X509Certificate } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Certificate } from '../certificate.ts';
import { servedServices } from '../vpn/connections.ts';
import {
  findKernelLack,
  findLackOfL2tp,
  findTakenPort,
  type Lack,
  listLacks,
} from '../vpn/machine.ts';
import { type Check, fault, type Outcome, ok, type Subject } from './check.ts';
import { told } from './programs.ts';

export const vpnChecks: Check[] = [{ name: 'vpn', run: vpn }];

/** Where Debian's charon has its plugins, and the packages of those that do not come along with it. */
const pluginFolder = '/usr/lib/ipsec/plugins';
const pluginPackages = {
  'eap-radius': 'libcharon-extra-plugins',
  openssl: 'libstrongswan-standard-plugins',
};

async function vpn(subject: Subject): Promise<Outcome | Outcome[]> {
  const { config, server } = subject;
  if (config.vpn.mode === 'off') return ok('The VPN is off (EXITWARD_AGENT_VPN).');
  const lacks = await lacksOf(subject);
  if (lacks.length === 0) return ok('This machine has what a VPN needs.');
  if (!server) {
    return lacks.map(({ sentence, remedy }) => {
      return { ...ok(`A server with a VPN needs more here: ${sentence}.`), remedy };
    });
  }
  if (servedServices(server).length > 0) {
    return lacks.map(({ sentence, remedy }) =>
      fault(`The VPN of ${server.name} is not served: ${sentence}.`, remedy),
    );
  }
  const sentences = lacks.map(({ sentence }) => sentence).join('; ');
  return ok(`No VPN is served here, and for one ${sentences}.`);
}

async function lacksOf(subject: Subject): Promise<Lack[]> {
  const { config, server, status } = subject;
  const isServed = status && server && servedServices(server).length > 0;
  const found = [
    ...listLacks(config.vpn),
    ...pluginLacks(),
    await firewallLack(),
    await sealingLack(subject),
    // Where the agent runs with a VPN, its own charon has the ports.
    isServed ? undefined : await findTakenPort(),
    await certificateLack(subject),
    l2tpLack(subject),
  ];
  return found.filter((lack) => lack !== undefined);
}

function l2tpLack({ config, server }: Subject): Lack | undefined {
  if (server && !server.services.includes('vpn-l2tp')) return undefined;
  const lack = findLackOfL2tp(config.vpn);
  return lack && { ...lack, sentence: `for vpn-l2tp ${lack.sentence}` };
}

function pluginLacks(): Lack[] {
  // Where they are not Debian's, charon itself says what it could not load.
  if (!existsSync(pluginFolder)) return [];
  return Object.entries(pluginPackages)
    .filter(([name]) => !existsSync(join(pluginFolder, `libstrongswan-${name}.so`)))
    .map(([name, from]) => {
      return { sentence: `charon has no plugin ${name}`, remedy: `apt-get install ${from}` };
    });
}

/** It only reads, and needs what writing needs. */
async function firewallLack(): Promise<Lack | undefined> {
  const tables = await told('nft', 'list', 'tables').catch((error: Error) => error);
  if (tables === undefined)
    return { sentence: 'there is no nft', remedy: 'apt-get install nftables' };
  if (!(tables instanceof Error)) return undefined;
  return {
    sentence: `the kernel takes no rules for it: ${tables.message}`,
    remedy: 'modprobe nf_tables',
  };
}

/** Whether packets can be sealed. The kernel's own part is tried in a namespace that ends with the command. */
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
  const { current } = certificate;
  if (!current) {
    // With ACME it comes when the machine has joined, as it is of the server's hostname.
    if (config.acme && !server) return undefined;
    return {
      sentence: 'there is no certificate',
      remedy: certificate.fault?.replace(/\.$/, '') ?? 'set EXITWARD_AGENT_ACME',
    };
  }
  if (!server || new X509Certificate(current.cert).checkHost(server.hostname)) return undefined;
  return {
    sentence: `the certificate is not of ${server.hostname}`,
    remedy: `make one of that name: docs/tls.md`,
  };
}
