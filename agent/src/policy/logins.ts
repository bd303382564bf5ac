// The decision on logins to a VPN, by the same records and for the same reasons as for a proxy.
import { readLogin, vpnPassword } from '../../../kit/src/vpn_password.ts';
import {
  type Decision,
  deny,
  faultOf,
  identifyByClaims,
  identifyByToken,
  isDrained,
  type Principal,
  type Rules,
  type VpnLogin,
} from './decide.ts';
import type { Reason } from './denials.ts';
import type { Policy } from './policy.ts';

/**
 * Decides on one login, for the same reasons as `decide`. The firewall checks destinations later:
 * at a login they are not known yet. Pure, except for `proves`.
 */
export function decideLogin(policy: Policy, rules: Rules, login: VpnLogin, now: number): Decision {
  const { server } = policy;
  if (!server) return deny('not_ready');
  const isExit = server.exit_ips.some(({ ip }) => ip === login.exit_ip);
  if (!isExit || !server.services.includes(login.service)) return deny('no_service');
  if (isDrained(policy, rules)) return deny('drained');
  const principal = identifyByLogin(policy, login, now);
  if (typeof principal === 'string') return deny(principal);
  const { account, user, authority } = principal;
  const fault = faultOf(account, user, account.contract?.port_scheme, now);
  if (fault) return deny(fault, principal);
  return {
    verdict: 'allow',
    authority,
    contract: account.contract?.name ?? '',
    user: user.name,
    exit_ip: login.exit_ip,
    dial: undefined,
    override: undefined,
  };
}

function identifyByLogin(policy: Policy, login: VpnLogin, now: number): Principal | Reason {
  const { vpn_key } = policy.server ?? {};
  let isOld = false;
  for (const { user: name, account: contract, expiry } of readLogin(login.login)) {
    if (login.password?.startsWith('ewt_')) {
      const credentials = { user: name, password: login.password };
      const principal = identifyByToken(policy, credentials, now);
      if (typeof principal === 'string' && principal !== 'bad_token') return principal;
      if (typeof principal === 'object' && principal.account.contract?.name === contract) {
        return principal;
      }
      continue;
    }
    for (const account of vpn_key === undefined ? [] : policy.accountsNamed(contract)) {
      const user = account.findUser(name);
      if (!user) continue;
      const claims = { by: 'vpn' as const, account: account.id, user: user.id, expiry };
      const { token_version } = user;
      const proves = (version: number) =>
        login.proves(vpnPassword(vpn_key ?? '', { ...claims, token_version: version }));
      if (proves(token_version)) return identifyByClaims(policy, { ...claims, token_version }, now);
      isOld ||= proves(token_version - 1);
    }
  }
  return isOld ? 'old_token_version' : 'bad_token';
}
