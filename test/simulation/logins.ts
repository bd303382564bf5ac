// The logins of people to the VPN of a simulated machine.
import type { Attempt } from '../../agent/test/oracle.ts';
import { vpnPassword } from '../../kit/src/vpn_password.ts';
import type { Secrets } from '../../server/src/keys/secrets.ts';
import type { Random } from '../../server/test/random.ts';
import { accounts, users } from './center.ts';
import type { Machine } from './machine.ts';

/** As `random.one`, mostly the first. */
const mostly = <T>(random: Random, usual: T, ...others: T[]): T =>
  random.between(0, 5) > 0 ? usual : random.one(others);

/**
 * Somebody dials an exit, mostly one that there is, with a password that is right now, or was, or
 * will be.
 */
export function drawLogin(
  random: Random,
  { engine, joined }: Machine,
  secrets: Secrets,
  now: number,
): { attempt: Attempt; login: string; password: string } {
  const [account, user] = [random.between(1, accounts.length), random.between(1, users.length)];
  const minutes = Math.ceil(now / 60) + random.between(0, 1);
  const expiry = random.one([null, null, minutes * 60]);
  const made = { account, user, token_version: random.one([1, 1, 1, 2, 3]), expiry };
  const [exit = ''] = engine.policy?.server?.exit_ips.map(({ ip }) => ip) ?? [];
  const attempt = {
    ...{ made, expiry },
    user: users[user - 1] as string,
    account: accounts[account - 1] as string,
    service: mostly(random, 'vpn-ikev2', 'vpn-ikev1'),
    exit_ip: mostly(random, exit, `198.51.101.${joined.server_id}`),
  };
  const ending = expiry === null ? '' : `~${minutes.toString(36)}`;
  const { vpn_generation = 0 } = engine.policy?.server ?? {};
  const key = secrets.vpnKey({ id: joined.server_id, vpn_generation });
  const password = vpnPassword(key, made);
  return { attempt, login: `${attempt.user}@${attempt.account}${ending}`, password };
}
