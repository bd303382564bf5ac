// VPN profiles: what a user's devices need for the VPN of one or all servers. Nothing is stored: a
// profile follows from the servers' keys and the user's token version, and becomes invalid with
// that.

import { sharedKey, vpnPassword, vpnServices } from '../../../kit/src/vpn_password.ts';
import type { Account } from '../accounts/accounts.ts';
import { audit } from '../changes/audit.ts';
import { listContractServers, requireOnContract } from '../contract_servers/contract_servers.ts';
import type { Transaction } from '../db/database.ts';
import { conflict } from '../errors.ts';
import type { Secrets } from '../keys/secrets.ts';
import { servicesOf } from '../servers/servers.ts';
import type { Certificate } from '../tls/certificate.ts';
import { requireUserOfProxies } from '../users/users.ts';
import { type ProfileFile, profileFiles, type ServerProfile } from './files.ts';

export interface VpnProfile {
  login: string;
  /** Epoch seconds; null: valid as long as the user's token version. */
  expiry: number | null;
  /** At least one. */
  servers: ServerProfile[];
}

/** A file as it is sent in JSON: a signed file is not text. */
export interface EncodedFile extends ProfileFile {
  encoding: 'utf-8' | 'base64';
}

interface Wanted {
  user: string;
  /** Undefined: all servers on the contract that have a VPN. */
  server?: string | undefined;
  /** An exit of that server; undefined: its first. */
  exit_ip?: string | undefined;
  /** Undefined: without an end. */
  lifetime_seconds?: number | undefined;
}

/**
 * Creates the profile of a user. Errors: 409 for a user who is unknown, inactive or without the
 * proxy flag; for a server that is not on the contract, or has no VPN; and for an exit that does
 * not belong to its VPN.
 */
export async function createVpnProfile(
  tx: Transaction,
  secrets: Secrets,
  account: Account,
  wanted: Wanted,
): Promise<VpnProfile> {
  const user = await requireUserOfProxies(tx, account.id, wanted.user);
  const minutes =
    wanted.lifetime_seconds === undefined
      ? null
      : Math.ceil((tx.now + wanted.lifetime_seconds) / 60);
  const expiry = minutes === null ? null : minutes * 60;
  const claims = { account: account.id, user: user.id, token_version: user.token_version, expiry };
  const servers = (await vpnsOf(tx, account, wanted)).map(({ id, vpn_generation, ...values }) => {
    const key = secrets.vpnKey({ id, vpn_generation });
    const isShared = values.services.some((service) => service !== 'vpn-ikev2');
    return {
      ...values,
      password: vpnPassword(key, claims),
      shared_key: isShared ? sharedKey(key) : null,
    };
  });
  await audit(tx, {
    account_id: account.id,
    action: 'vpn_profile.create',
    target: user.name,
    after: { server: wanted.server ?? null, token_version: user.token_version, expiry },
  });
  const name = `${user.name}@${account.name}`;
  return {
    login: minutes === null ? name : `${name}~${minutes.toString(36)}`,
    expiry,
    servers,
  };
}

type Vpn = Omit<ServerProfile, 'password' | 'shared_key'> & {
  id: number;
  vpn_generation: number;
};

const noDetail = { location: false, usage: false, geostatus: false };

/** The requested VPNs. Errors: 409. */
async function vpnsOf(tx: Transaction, account: Account, wanted: Wanted): Promise<Vpn[]> {
  const { server: name, exit_ip } = wanted;
  if (name !== undefined) await requireOnContract(tx, account.id, name, '');
  const names = name === undefined ? undefined : [name];
  const { servers } = await listContractServers(tx, account.id, names, noDetail, tx.now);
  const vpns = servers.flatMap(({ server, exit_ips }) => {
    const offered: string[] = servicesOf(server);
    const services = vpnServices.filter((service) => offered.includes(service));
    // The addresses in the tunnels are IPv4, and so are the exits that a VPN dials.
    const ips = exit_ips.map(({ ip }): string => ip).filter((ip) => !ip.includes(':'));
    const [first] = ips;
    if (services.length === 0 || first === undefined) return [];
    const { id, name: short, hostname, vpn_generation } = server;
    const exit = { exit_ip: exit_ip ?? first, exit_ips: ips };
    return [{ id, vpn_generation, server: short, services, hostname, ...exit }];
  });
  if (vpns.length === 0) {
    const subject = name === undefined ? 'No server of the contract' : JSON.stringify(name);
    throw conflict(`${subject} has ${name === undefined ? 'a' : 'no'} VPN.`, { field: 'server' });
  }
  const mismatch = vpns.find((vpn) => !vpn.exit_ips.includes(vpn.exit_ip));
  if (!mismatch) return vpns;
  throw conflict(
    `${mismatch.exit_ip} is no exit of the VPN of ${mismatch.server}; expected ${mismatch.exit_ips.join(' or ')}.`,
    { field: 'exit_ip' },
  );
}

/**
 * The files of a profile; those for Apple's systems are signed, if there is a signer. `now`: epoch
 * seconds.
 */
export function filesOf(
  { login, servers }: VpnProfile,
  signer: Certificate | undefined,
  now: number,
): Promise<EncodedFile[]> {
  const files = profileFiles(login, servers);
  return Promise.all(files.map((file) => encoded(file, signer, now)));
}

async function encoded(
  file: ProfileFile,
  signer: Certificate | undefined,
  now: number,
): Promise<EncodedFile> {
  const plain = { ...file, encoding: 'utf-8' } as const;
  if (file.format !== 'apple' || !signer) return plain;
  // Its libraries are loaded only when a file has to be signed.
  const { signed } = await import('./signed.ts');
  const der = await signed(Buffer.from(file.content), signer, now);
  return der ? { ...file, encoding: 'base64', content: der.toString('base64') } : plain;
}
