// What the kernel's rules are made of on this node: its exits, and what its operator allowed.
import type { Config } from '../config.ts';
import type { Listener } from '../policy/policy.ts';
import type { GuardOptions } from './guard.ts';
import { findSquidUser } from './unix_user.ts';

export function guardOptions(
  { allowed, engine }: Config,
  listeners: ReadonlyMap<number, Listener>,
): GuardOptions {
  const exits = Array.from(listeners.values(), ({ exit_ip }) => exit_ip);
  return {
    exit_ips: [...new Set(exits)].sort(),
    allowed,
    proxy_user: engine === 'squid' ? findSquidUser()?.name : undefined,
  };
}
