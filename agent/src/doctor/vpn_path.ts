// The path of the VPN's packets through the machine: other firewalls, connection tracking, and the
// check of the return path. Some other rule may let the packets pass, so these are warnings.
import { readFileSync } from 'node:fs';
import { isIPv4 } from 'node:net';
import { networkInterfaces } from 'node:os';
import { listed, type Outcome, ok, warning } from '../../../kit/src/doctor/check.ts';
import { networkText } from '../firewall.ts';
import { outputOf } from '../required_programs.ts';
import { servedServices } from '../vpn/connections.ts';
import { findFullConntrack } from '../vpn/passage.ts';
import { flowBytes } from '../vpn/vpn_firewall.ts';
import { exitsOf } from './ports.ts';
import type { NodeCheck, Subject } from './subject.ts';

export const vpnPathChecks: NodeCheck[] = [{ name: 'vpn-path', run: examine }];

/** A chain of nftables, as `nft -j list chains` prints it. */
interface Chain {
  family: string;
  table: string;
  name: string;
  hook?: string;
  policy?: string;
}

async function examine(subject: Subject): Promise<Outcome[]> {
  const { server, config } = subject;
  if (!server || config.vpn.mode === 'off' || servedServices(server).length === 0) {
    return [ok('No VPN is served, so its path through the machine was not checked.')];
  }
  const full = findFullConntrack();
  const outcomes = [
    ...(await firewalls(networkText(config.vpn.pool))),
    ...(full ? [warning(`This machine's ${full.sentence}.`, full.remedy)] : []),
    ...(await waysBack(exitsOf(subject).filter((ip) => isIPv4(ip)))),
  ];
  return outcomes.length > 0 ? outcomes : [ok("Nothing is in the way of the VPN's packets.")];
}

async function firewalls(pool: string): Promise<Outcome[]> {
  const listing = await outputOf('nft', '-j', 'list', 'chains');
  if (listing === undefined) return [];
  const { nftables } = JSON.parse(listing) as { nftables: Array<{ chain?: Chain }> };
  const droppers = (hook: string) =>
    nftables
      .flatMap(({ chain }) => chain ?? [])
      .filter((chain) => chain.hook === hook && chain.policy === 'drop')
      .filter(({ family }) => family === 'ip' || family === 'inet')
      .map(({ family, table, name }) => `${family} ${table} ${name}`);
  const [input, forward] = [droppers('input'), droppers('forward')];
  const rules = input.length > 0 ? ((await outputOf('nft', '-t', 'list', 'ruleset')) ?? '') : '';
  // If packets have left the machine, some rule accepts them.
  const departed = forward.length > 0 ? await flowBytes().catch(() => undefined) : undefined;
  return [
    ...(input.length > 0 && !/\bdport\b.*\b4500\b/.test(rules)
      ? [
          warning(
            `The firewall of this machine drops what no rule accepts (${listed(input)}), and no rule names UDP port 4500: clients of the VPN get no answer.`,
            'accept UDP 500 and 4500, such as: ufw allow 500,4500/udp; or firewall-cmd --permanent --add-service=ipsec',
          ),
        ]
      : []),
    ...(forward.length > 0 && !departed?.departed
      ? [
          warning(
            `The firewall of this machine forwards nothing that no rule accepts (${listed(forward)}), and no packet of a client has passed it: clients of the VPN may be connected and reach nothing.`,
            `accept ${pool} both ways, such as with Docker: iptables -I DOCKER-USER -s ${pool} -j ACCEPT; iptables -I DOCKER-USER -d ${pool} -j ACCEPT; with ufw: ufw route allow from ${pool}; ufw route allow to ${pool}`,
          ),
        ]
      : []),
  ];
}

/** Any address on the Internet; nothing is sent there. */
const elsewhere = '192.88.99.1';

/** Exits whose clients arrive by one device, and whose answers leave by another. */
async function waysBack(exits: readonly string[]): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  for (const exit of exits) {
    const [device] =
      Object.entries(networkInterfaces()).find(([, entries]) =>
        entries?.some(({ address }) => address === exit),
      ) ?? [];
    if (device === undefined || device === 'lo') continue;
    const strictness = Math.max(...['all', device].map(rpFilter));
    const route = await outputOf('ip', 'route', 'get', elsewhere, 'from', exit).catch(() => '');
    const [, back] = /\bdev (\S+)/.exec(route ?? '') ?? [];
    if (strictness !== 1 || back === undefined || back === device) continue;
    outcomes.push(
      warning(
        `The exit ${exit} is on ${device}, and its answers leave by ${back}: the strict check of the way back (rp_filter) drops what clients send.`,
        `sysctl -w net.ipv4.conf.${device}.rp_filter=2, and in /etc/sysctl.d; or a route for packets from ${exit}`,
      ),
    );
  }
  return outcomes;
}

function rpFilter(device: string): number {
  try {
    return Number(readFileSync(`/proc/sys/net/ipv4/conf/${device}/rp_filter`, 'latin1'));
  } catch {
    return 0;
  }
}
