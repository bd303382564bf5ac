// VPN profiles: what a user's device needs for the VPN of one server. Nothing of it is stored: it follows from the server's key and the
// user's token version, and ends with that.
import type { Account } from '../accounts/accounts.ts';
import { audit } from '../audit.ts';
import { requireOnContract } from '../contract_servers/contract_servers.ts';
import type { Transaction } from '../db/database.ts';
import { conflict } from '../errors.ts';
import type { Secrets } from '../secrets.ts';
import { exitIpsOfServer } from '../servers/servers.ts';
import { requireUserOfProxies } from '../users/users.ts';
import { sharedKey, type VpnService, vpnPassword, vpnServices } from '../vpn_password.ts';
import { type ProfileFile, profileFiles } from './files.ts';

export interface VpnProfile {
  server: string;
  /** VPN services of the server. */
  services: VpnService[];
  /** By which the server shows who it is: its certificate has it. */
  hostname: string;
  /** The addresses to dial, each of them an exit. */
  exit_ips: string[];
  login: string;
  password: string;
  /** Ahead of the password, where the server has vpn-ikev1. */
  shared_key: string | null;
  /** Epoch seconds; null: as long as the user's token version. */
  expiry: number | null;
  files: ProfileFile[];
}

/** The exits that a VPN dials are of IPv4: the addresses in the tunnels are, too. */
const isIPv4 = (ip: string) => !ip.includes(':');

/**
 * Makes the profile of a user for one server; `lifetime_seconds` undefined: without an end. Errors: 404 for the user; 409 for a user
 * who is inactive or without the proxy flag, and for a server that is not on the contract, or has no VPN.
 */
export async function createVpnProfile(
  tx: Transaction,
  secrets: Secrets,
  account: Account,
  of: { user: string; server: string; lifetime_seconds?: number | undefined },
): Promise<VpnProfile> {
  const user = await requireUserOfProxies(tx, account.id, of.user);
  const server = await requireOnContract(tx, account.id, of.server, '');
  const offered = JSON.parse(server.services) as string[];
  const services = vpnServices.filter((service) => offered.includes(service));
  const exits = (await exitIpsOfServer(tx, server.id)).map(({ ip }) => ip).filter(isIPv4);
  if (services.length === 0 || exits.length === 0) {
    throw conflict(`${JSON.stringify(of.server)} has no VPN.`, { field: 'server' });
  }
  const minutes =
    of.lifetime_seconds === undefined ? null : Math.ceil((tx.now + of.lifetime_seconds) / 60);
  const expiry = minutes === null ? null : minutes * 60;
  const key = secrets.vpnKey(server.id);
  const claims = { account: account.id, user: user.id, token_version: user.token_version, expiry };
  await audit(tx, {
    account_id: account.id,
    action: 'vpn_profile.create',
    target: user.name,
    after: { server: server.name, token_version: user.token_version, expiry },
  });
  const name = `${user.name}@${account.name}`;
  const profile = {
    server: server.name,
    services,
    hostname: server.hostname,
    exit_ips: exits,
    login: minutes === null ? name : `${name}~${minutes.toString(36)}`,
    password: vpnPassword(key, claims),
    shared_key: services.includes('vpn-ikev1') ? sharedKey(key) : null,
    expiry,
  };
  const hasFiles = services.includes('vpn-ikev2');
  return { ...profile, files: hasFiles ? profileFiles(profile, exits[0] as string) : [] };
}
