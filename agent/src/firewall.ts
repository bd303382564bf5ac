// The firewall, a second barrier in the kernel: nftables rules that keep exit addresses from
// reaching private destinations and the machine itself.
import { execFile } from 'node:child_process';
import { isIPv4 } from 'node:net';
import type { Network } from '../../kit/src/address.ts';
import { refusedIpv4, refusedIpv6, routedIpv6 } from './address.ts';
import type { Config } from './config.ts';
import type { Listener } from './policy/policy.ts';
import { findSquidUser } from './squid/agent/unix_user.ts';

export interface FirewallOptions {
  exit_ips: readonly string[];
  /** Destinations that the operator allows although they are private or reserved. */
  allowed: readonly Network[];
  /**
   * The user that the proxy runs as: it may send IPv6 only from the exit addresses. Undefined: this
   * is not enforced.
   */
  proxy_user: string | undefined;
}

const table = 'inet exitward';
const reject = 'counter reject with icmpx admin-prohibited';

/** The options of this node: its exits, and the destinations that its operator allows. */
export function firewallOptions(
  { allowed, engine }: Config,
  listeners: ReadonlyMap<number, Listener>,
): FirewallOptions {
  const exits = Array.from(listeners.values(), ({ exit_ip }) => exit_ip);
  return {
    exit_ips: [...new Set(exits)].sort(),
    allowed,
    proxy_user: engine === 'squid' ? findSquidUser()?.name : undefined,
  };
}

/**
 * The ruleset, for `nft -f`. It decides by the exit address of a new connection: connections of the
 * machine itself, or of the proxy to its helpers, pass. Applying it again replaces it.
 */
export function firewallRules({ exit_ips, allowed, proxy_user }: FirewallOptions): string {
  const exits4 = exit_ips.filter((ip) => isIPv4(ip));
  const exits6 = exit_ips.filter((ip) => !isIPv4(ip));
  const allowed4 = allowed.filter(([base]) => base.kind() === 'ipv4').map(networkText);
  const allowed6 = allowed.filter(([base]) => base.kind() === 'ipv6').map(networkText);
  const rules = [
    'ct state != new accept',
    ...(exits4.length > 0
      ? [
          ...(allowed4.length > 0 ? ['ip saddr @exits4 ip daddr @allowed4 accept'] : []),
          `ip saddr @exits4 ip daddr @refused4 ${reject}`,
          `ip saddr @exits4 fib daddr type local ${reject}`,
        ]
      : []),
    ...(exits6.length > 0
      ? [
          ...(allowed6.length > 0 ? ['ip6 saddr @exits6 ip6 daddr @allowed6 accept'] : []),
          `ip6 saddr @exits6 ip6 daddr != ${routedIpv6} ${reject}`,
          `ip6 saddr @exits6 ip6 daddr @refused6 ${reject}`,
          `ip6 saddr @exits6 fib daddr type local ${reject}`,
        ]
      : []),
    ...(proxy_user === undefined
      ? []
      : [`meta skuid "${proxy_user}" ${ipv6Leak(exits6)} ${reject}`]),
  ];
  return [
    // Created before it is deleted, so that deleting it never fails; all of it is one transaction.
    `table ${table}`,
    `delete table ${table}`,
    `table ${table} {`,
    ...setOf('exits4', 'ipv4_addr', exits4),
    ...setOf('exits6', 'ipv6_addr', exits6),
    ...setOf('allowed4', 'ipv4_addr', allowed4),
    ...setOf('allowed6', 'ipv6_addr', allowed6),
    ...setOf('refused4', 'ipv4_addr', refusedIpv4),
    ...setOf('refused6', 'ipv6_addr', refusedIpv6),
    '  chain output {',
    '    type filter hook output priority 0; policy accept;',
    ...rules.map((rule) => `    ${rule}`),
    '  }',
    '}',
    '',
  ].join('\n');
}

/** Puts the ruleset in force. Errors: those of `nft`. */
export function applyFirewall(options: FirewallOptions): Promise<void> {
  return nft(firewallRules(options));
}

/** Removes the ruleset, if it exists. */
export function removeFirewall(): Promise<void> {
  return nft(`table ${table}\ndelete table ${table}\n`);
}

/**
 * IPv6 of the proxy that leaves from another address than its exits; its helpers respond on ::1.
 */
function ipv6Leak(exits6: readonly string[]): string {
  const other = exits6.length > 0 ? 'ip6 saddr != @exits6' : 'meta nfproto ipv6';
  return `ip6 daddr != ::1 ${other}`;
}

function setOf(name: string, type: string, elements: readonly string[]): string[] {
  if (elements.length === 0) return [];
  const list = elements.join(', ');
  return [`  set ${name} { type ${type}; flags interval; auto-merge; elements = { ${list} } }`];
}

/** In CIDR notation. */
export function networkText([base, bits]: Network): string {
  return `${base.toString()}/${bits}`;
}

/** Applies all of `rules`, or nothing. Errors: those of `nft`. */
export function nft(rules: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = execFile('nft', ['-f', '-'], (error, _stdout, stderr) => {
      if (error) reject(new Error(`nft: ${stderr.trim() || error.message}`));
      else resolve();
    });
    child.stdin?.end(rules);
  });
}
