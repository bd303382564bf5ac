// The firewall, a second barrier in the kernel: nftables rules that keep exit addresses from
// reaching private destinations and the machine itself.
import { execFile } from 'node:child_process';
import { isIPv4 } from 'node:net';
import type { Logger } from 'pino';
import type { Network } from '../../kit/src/address.ts';
import { ignore } from '../../kit/src/owner.ts';
import { SerialQueue } from '../../kit/src/serial_queue.ts';
import { refusedIpv4, refusedIpv6, routedIpv6 } from './address.ts';
import { type Clock, every } from './clock.ts';
import type { Config } from './config.ts';
import type { Fault } from './faults.ts';
import type { Listener } from './policy/policy.ts';
import { findSquidUser } from './squid/agent/unix_user.ts';

export interface FirewallOptions {
  exit_ips: readonly string[];
  /** Destinations that the operator allows although they are private or reserved. */
  allowed: readonly Network[];
  /**
   * The user that the proxy runs as: its IPv6 may leave only from the exit addresses. Undefined:
   * this is not enforced.
   */
  proxy_user: string | undefined;
}

const table = 'inet exitward';
const reject = 'counter reject with icmpx admin-prohibited';
const lookSeconds = 5;

/**
 * Keeps the ruleset in force: a reload of the machine's own rules (`nft flush ruleset`) removes it.
 * Once there are exits to guard, the ruleset stays, even when the agent stops.
 */
export class Firewall {
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #queue = new SerialQueue();
  /** The rules in force; undefined: none yet. */
  #rules: string | undefined;
  /** The same, as the kernel lists them. */
  #listing = '';
  #fault: string | undefined;

  constructor({ clock, log }: { clock: Clock; log: Logger }) {
    this.#clock = clock;
    this.#log = log;
  }

  /** Adapts the rules to the exits. Errors: those of `nft`. */
  apply(options: FirewallOptions): Promise<void> {
    return this.#queue.run(async () => {
      // Until there is a policy, the rules of an earlier agent stay.
      if (this.#rules === undefined && options.exit_ips.length === 0) return;
      const rules = firewallRules(options);
      if (rules !== this.#rules) await this.#put(rules);
    });
  }

  /** Restores the rules at intervals, until the signal is aborted. */
  run(signal: AbortSignal): Promise<void> {
    return every(this.#clock, lookSeconds, signal, () => this.look());
  }

  /** Restores the rules if the kernel lacks any of them. */
  look(): Promise<void> {
    return this.#queue.run(async () => {
      if (this.#rules === undefined) return;
      try {
        const listing = await listRules();
        // An empty listing: the rules may have been flushed before they were first listed.
        if (listing === '' || listing !== this.#listing) {
          this.#log.warn('another program changed the rules of the guard: they are restored');
          await this.#put(this.#rules);
        }
        this.#fault = undefined;
      } catch (error) {
        this.#fault = `The guard is not in the kernel: ${(error as Error).message}.`;
        this.#log.error(this.#fault);
      }
    });
  }

  faults(): Fault[] {
    return this.#fault === undefined ? [] : [{ kind: 'firewall', message: this.#fault }];
  }

  async #put(rules: string): Promise<void> {
    await nft(rules);
    this.#rules = rules;
    this.#listing = await listRules();
  }
}

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
 * The ruleset, for `nft -f`. It applies to new connections from exit addresses; those of the
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
    // Created before it is deleted, so that the deletion never fails. All of this is one
    // transaction.
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

/** Puts the ruleset in force, once. Errors: those of `nft`. */
export function applyFirewall(options: FirewallOptions): Promise<void> {
  return nft(firewallRules(options));
}

/** Removes the ruleset, if it exists. */
export function removeFirewall(): Promise<void> {
  return nft(`table ${table}\ndelete table ${table}\n`);
}

/**
 * Matches IPv6 of the proxy from other addresses than its exits. Its helpers are reached at ::1.
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

/** The table without its counters; empty if it is not there. */
function listRules(): Promise<string> {
  return new Promise((resolve) => {
    execFile('nft', ['--stateless', 'list', 'table', ...table.split(' ')], (_error, stdout) => {
      resolve(stdout);
    });
  });
}

/** In CIDR notation. */
export function networkText([base, bits]: Network): string {
  return `${base.toString()}/${bits}`;
}

/** Applies all of `rules`, or nothing. Errors: those of `nft`. */
export function nft(rules: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = execFile('nft', ['-f', '-'], (error, _stdout, stderr) => {
      if (error?.code === 'ENOENT') reject(new Error('there is no nft: apt-get install nftables'));
      else if (error) reject(new Error(`nft: ${stderr.trim() || error.message}`));
      else resolve();
    });
    // If the program ends before it has read them, its exit code reports that.
    child.stdin?.on('error', ignore).end(rules);
  });
}
