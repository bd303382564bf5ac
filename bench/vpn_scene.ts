// A node's policy for the measurements of the VPN: accounts with one user each.
import type { Rules } from '../agent/src/policy/decision.ts';
import { Policy } from '../agent/src/policy/policy.ts';
import type { NodeRecord } from '../agent/src/policy/records.ts';
import { vpnPassword } from '../kit/src/vpn_password.ts';

export const secret = 'of-both';
export const exitIp = '198.51.100.1';
const vpnKey = Buffer.alloc(32, 7).toString('base64url');
const tomorrow = Math.floor(Date.now() / 1000) + 86_400;

export const rules: Rules = {
  ...{ connect_ports: [], http_ports: [], allowed: [] },
  staleness_seconds: 86_400,
};

export const contractOf = (account: number, suspended = false): NodeRecord => {
  const contract = { name: `c${account}`, expiry: tomorrow, suspended, blocked: false };
  return { kind: 'contract', account, value: { ...contract, port_scheme: 'default' } };
};

export function policyOf(accounts: number): Policy {
  const policy = new Policy();
  policy.heard_at = Date.now() / 1000;
  const names = {
    name: 'fra1',
    hostname: 'fra1.example.net',
    services: ['vpn-ikev2'],
    vpn_key: vpnKey,
  };
  const exit_ips = [{ ip: exitIp, port_base: 1 }];
  policy.apply({ kind: 'server', value: { ...names, port_schemes: [], exit_ips } });
  const user = { name: 'alice', active: true, proxy: true, token_version: 1 };
  for (let account = 1; account <= accounts; account++) {
    policy.apply(contractOf(account));
    policy.apply({ kind: 'user', account, id: 1, value: user });
  }
  return policy;
}

export const passwordOf = (account: number) =>
  vpnPassword(vpnKey, { account, user: 1, token_version: 1, expiry: null });
