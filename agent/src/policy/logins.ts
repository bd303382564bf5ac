// The decision on VPN logins, by the same records and with the same reasons as for a proxy.
import { readLogin, vpnPassword } from '../../../kit/src/vpn_password.ts';
import { allow, deny, isDrained } from './decide.ts';
import type { Decision, Rules, VpnLogin } from './decision.ts';
import type { Reason } from './denials.ts';
import { faultOf, identifyByClaims, identifyByToken, type Principal } from './identify.ts';
import { folded, type Policy } from './policy.ts';

/**
 * Decides on one login, with the same reasons as `decide`. Destinations are unknown at a login, so
 * the firewall checks them. Pure, except for `proves`.
 */
export function decideLogin(policy: Policy, rules: Rules, login: VpnLogin, now: number): Decision {
  const { server } = policy;
  if (!server) return deny('not_ready');
  const isExit = server.exit_ips.some(({ ip }) => ip === login.exit_ip);
  if (!isExit || !server.services.includes(login.service)) return deny('no_service');
  if (isDrained(policy, rules)) return deny('drained');
  const principal = identifyByLogin(policy, login, now);
  if (typeof principal === 'string') return deny(principal);
  const { account, user } = principal;
  const fault = faultOf(account, user, account.contract?.port_scheme, now, login.service);
  if (fault) return deny(fault, principal);
  return allow(principal, login.exit_ip);
}

function identifyByLogin(policy: Policy, login: VpnLogin, now: number): Principal | Reason {
  const { vpn_key, vpn_generation: generation = 0 } = policy.server ?? {};
  let isOld = false;
  for (const { user: name, account: contract, expiry } of readLogin(login.login)) {
    // If names differ only in case, the password shows which one is meant.
    const candidates = [...policy.accountsNamed(contract)].flatMap((account) =>
      account.usersNamed(name).map((user) => ({ account, user })),
    );
    if (login.password?.startsWith('ewt_')) {
      for (const user of new Set([name, ...candidates.map((candidate) => candidate.user.name)])) {
        const credentials = { user, password: login.password };
        const principal = identifyByToken(policy, credentials, now);
        if (typeof principal === 'string' && principal !== 'bad_token') return principal;
        const owner = typeof principal === 'object' ? principal.account.contract?.name : undefined;
        if (owner !== undefined && folded(owner) === folded(contract)) return principal;
      }
      continue;
    }
    for (const { account, user } of vpn_key === undefined ? [] : candidates) {
      const claims = { by: 'vpn' as const, account: account.id, user: user.id, expiry, generation };
      const { token_version } = user;
      const proves = (version: number) =>
        login.proves(vpnPassword(vpn_key ?? '', { ...claims, token_version: version }));
      if (proves(token_version)) return identifyByClaims(policy, { ...claims, token_version }, now);
      isOld ||= proves(token_version - 1);
    }
  }
  return isOld ? 'old_token_version' : 'bad_token';
}
