// The VPN's table in nftables: which packets of the tunnels may pass, to where, from which exit,
// and how many bytes they were. The kernel keeps it, so sessions and their counts outlive this
// process, and charon.
//
// A packet's addresses are what its sender wrote. So each rule first checks where the packet came
// in, or goes out: the IKE tunnels and the PPP links are one door each, and each door has its own
// half of the pool.
//
// - prerouting: does the packet come by the door of its source? This is before connection tracking,
//   where it could join another client's flow. Each session has a zone there: a flow belongs to the
//   session that began it, and not to the next one with the same address.
// - forward: did it come by a door (from_client), or is it for a client (to_client)?
// - from_client: may this client send there, and is it translated to its exit? Counts it.
// - to_client: did the client ask for it, and does it go out by the client's door? Counts it.
// - input: no door leads to the machine itself. L2TP comes only through IPsec, and that IPsec leads
//   only to L2TP.
// - output: the machine itself sends only errors into the tunnels, and L2TP only through IPsec.
// - departure: does it leave the machine? Other firewalls have seen it by then.
// - postrouting: the exit of a client, and its ports there if it has some of its own.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Network } from '../../../kit/src/address.ts';
import { refusedIpv4 } from '../address.ts';
import { networkText, nft } from '../firewall.ts';
import type { FlowBytes } from './passage.ts';
import { halvesOf } from './pool.ts';
import { radiusAddress } from './radius_server.ts';
import type { KernelSession, KernelSessions, SessionFlows } from './sessions.ts';

const run = promisify(execFile);
const table = 'inet exitward_vpn';
const reject = 'counter reject with icmpx admin-prohibited';
const drop = 'counter drop';
/** The clamped segment size: with ESP in UDP, such a packet fits a path of 1420 bytes. */
const segment = 1316;
/** Includes chains that may not exist: each one is created before it is deleted. */
const chains = 'prerouting forward input output departure postrouting from_client to_client'.split(
  ' ',
);
/** The protocols whose flows have ports. */
const withPorts = '{ tcp, udp, udplite, dccp, sctp }';
/** Errors that report a path as too narrow, too long, or refused. */
const errors = 'destination-unreachable, time-exceeded, parameter-problem';

export interface VpnFirewallOptions {
  pool: Network;
  pool6: string;
  /** The part that encrypts packets. */
  ipsec: 'kernel' | 'userspace';
  /** Whether there may be PPP links, also after L2TP is no longer served. */
  has_ppp: boolean;
  /** Destinations that the operator allows although they are private or reserved. */
  allowed: readonly Network[];
  /** Destination ports that must not be reached. */
  refused_ports: readonly number[];
  /** The exits at which L2TP is served. */
  l2tp_exits: readonly string[];
}

/** The place where packets leave tunnels and enter them. */
interface Door {
  from: string;
  not_from: string;
  not_into: string;
  /** The addresses of its clients. */
  addresses: string;
}

/** The door of IKE comes first. */
function doorsOf({ pool, ipsec, has_ppp }: VpnFirewallOptions): [Door, ...Door[]] {
  const { lower, upper } = halvesOf(pool);
  const device = (name: string, addresses: Network): Door => ({
    from: `iifname "${name}"`,
    not_from: `iifname != "${name}"`,
    not_into: `oifname != "${name}"`,
    addresses: networkText(addresses),
  });
  const marked: Door = {
    from: 'meta ipsec exists',
    not_from: 'meta ipsec missing',
    not_into: 'rt ipsec missing',
    addresses: networkText(lower),
  };
  // libipsec has a device of its own. Packets that the kernel decrypts keep their device, and have
  // a mark.
  const ike = ipsec === 'kernel' ? marked : device('ipsec0', lower);
  return has_ppp ? [ike, device('ppp*', upper)] : [ike];
}

/** The table, for `nft -f`. Applying it again keeps its sessions, and those of an older one. */
export function vpnFirewallRules(options: VpnFirewallOptions): string {
  const { pool, pool6, has_ppp, allowed, refused_ports, l2tp_exits } = options;
  const pool4 = networkText(pool);
  const ours = allowed.filter(([base]) => base.kind() === 'ipv4').map(networkText);
  const except = ours.length > 0 ? `ip daddr != { ${ours.join(', ')} } ` : '';
  const doors = doorsOf(options);
  const [ike] = doors;
  const outside = doors.map(({ not_from }) => not_from).join(' ');
  const l2tp = l2tp_exits.length > 0 ? `{ ${l2tp_exits.join(', ')} }` : undefined;
  return [
    `table ${table} {`,
    '  set up { type ipv4_addr; flags dynamic; counter; }',
    '  set down { type ipv4_addr; flags dynamic; counter; }',
    '  set open { type ipv4_addr; }',
    // Bytes of the packets that begin flows, in one element, since all of them are IPv4.
    ...['begun', 'departed'].map(
      (name) => `  set ${name} { type nf_proto; flags dynamic; counter; }`,
    ),
    '  set refused4 { type ipv4_addr; flags interval; }',
    '  map exit { type ipv4_addr : ipv4_addr; }',
    '  map ports { type ipv4_addr : interval ipv4_addr . inet_service; }',
    '  map zone { typeof ip saddr : ct zone; }',
    '  set current { typeof ip daddr . ct zone; }',
    ...chains.map((chain) => `  chain ${chain} { }`),
    '}',
    // Removes only the rules, and the set without sessions.
    `flush table ${table}`,
    ...chains.map((chain) => `delete chain ${table} ${chain}`),
    `flush set ${table} refused4`,
    `table ${table} {`,
    `  set refused4 { type ipv4_addr; flags interval; elements = { ${refusedIpv4.join(', ')} } }`,
    '  chain from_client {',
    // Packets without a flow are not translated, so they would not leave by the exit.
    `    ct state != { new, established, related } ${drop}`,
    `    ip saddr != @open ${reject}`,
    `    ip daddr ${pool4} ${reject}`,
    `    ${except}ip daddr @refused4 ${reject}`,
    ...refused_ports.map((port) => `    meta l4proto { tcp, udp } th dport ${port} ${reject}`),
    `    tcp flags syn tcp option maxseg size set ${segment}`,
    '    update @up { ip saddr }',
    '    ct state new update @begun { meta nfproto }',
    '  }',
    '  chain to_client {',
    // Otherwise the client would pay for packets from any host.
    `    ct state != { established, related } ${drop}`,
    `    ip daddr != @open ${drop}`,
    // Flows of sessions that an older agent opened have no zone.
    `    ct original zone != 0 ip daddr . ct original zone != @current ${drop}`,
    ...doors.map(({ not_into, addresses }) => `    ${not_into} ip daddr ${addresses} ${drop}`),
    `    tcp flags syn tcp option maxseg size set ${segment}`,
    '    update @down { ip daddr }',
    '  }',
    '  chain prerouting {',
    '    type filter hook prerouting priority raw; policy accept;',
    '    iifname "lo" accept',
    // Only its client's address is routed to a PPP link. DHCP, and its like in IPv6, sends without
    // an address, which the route check lets pass.
    ...(has_ppp
      ? [
          `    iifname "ppp*" ip saddr 0.0.0.0 ${drop}`,
          `    iifname "ppp*" ip6 saddr :: ${drop}`,
          `    iifname "ppp*" fib saddr . iif oif missing ${drop}`,
        ]
      : []),
    // Rejected rather than dropped, so that programs fall back to IPv4 at once, and nothing
    // bypasses the exit. It comes before routing, since a machine without IPv6 forwarding silently
    // drops the packet there.
    `    ${ike.from} ip6 saddr ${pool6} ${reject}`,
    ...['ip saddr', 'ip daddr'].map((side) => `    ${outside} ${side} ${pool4} ${drop}`),
    ...['ip6 saddr', 'ip6 daddr'].map((side) => `    ${outside} ${side} ${pool6} ${drop}`),
    '    ct original zone set ip saddr map @zone',
    '  }',
    '  chain forward {',
    // Before other firewalls, so that packets that they drop are counted as begun.
    '    type filter hook forward priority filter - 1; policy accept;',
    ...doors.map(({ from, addresses }) => `    ${from} ip saddr ${addresses} goto from_client`),
    // Applies to IPv6, too. Other PPP links may be the machine's own.
    `    ${ike.from} ${drop}`,
    `    ip daddr ${pool4} goto to_client`,
    '  }',
    '  chain input {',
    '    type filter hook input priority filter; policy accept;',
    ...doors.map(({ from }) => `    ${from} ip saddr ${pool4} ${reject}`),
    // L2TP has no secrets of its own, so it is served only inside IPsec. For the kernel, an SA in
    // transport mode covers all ports of its addresses: a client with the shared secret could
    // bypass a firewall in front of the node.
    ...(l2tp
      ? [
          `    meta ipsec missing ip daddr ${l2tp} udp dport 1701 ${drop}`,
          `    meta ipsec exists ip daddr ${l2tp} meta l4proto != udp ${drop}`,
          `    meta ipsec exists ip daddr ${l2tp} udp dport != 1701 ${drop}`,
        ]
      : []),
    '  }',
    '  chain output {',
    '    type filter hook output priority filter; policy accept;',
    // On this error, charon would give up a login at once while no agent listens.
    `    ip saddr ${radiusAddress} icmp type destination-unreachable drop`,
    ...(l2tp ? [`    rt ipsec missing ip saddr ${l2tp} udp sport 1701 ${drop}`] : []),
    '    oifname "lo" accept',
    `    ip daddr ${pool4} icmp type { ${errors} } accept`,
    `    ip daddr ${pool4} ${drop}`,
    `    ip6 daddr ${pool6} icmpv6 type { packet-too-big, ${errors} } accept`,
    `    ip6 daddr ${pool6} ${drop}`,
    '  }',
    '  chain departure {',
    '    type filter hook postrouting priority filter; policy accept;',
    `    ip saddr ${pool4} ct state new update @departed { meta nfproto }`,
    '  }',
    '  chain postrouting {',
    // Before other programs' rules, since the first rule that translates a flow counts: a general
    // MASQUERADE, as Docker and VPN scripts add it, would move clients from their exit.
    '    type nat hook postrouting priority srcnat - 1; policy accept;',
    `    meta l4proto ${withPorts} snat ip addr . port to ip saddr map @ports`,
    '    snat ip to ip saddr map @exit',
    '  }',
    '}',
    '',
  ].join('\n');
}

/** The rules in force, as the kernel lists them: another program may change them. */
export class RulesInForce {
  #listing = '';

  /** Puts them in force, or back. Errors: nft's. */
  async apply(rules: string): Promise<void> {
    const listed = (await listRules()).matchAll(/^\tchain (\w+) \{$/gm);
    const others = Array.from(listed, ([, name = '']) => name).filter(
      (name) => !chains.includes(name),
    );
    const removal = others.map((name) => `delete chain ${table} ${name}\n`).join('');
    await nft(`${removal && `flush table ${table}\n${removal}`}${rules}`);
    this.#listing = await listRules();
  }

  /**
   * Whether they are as they were applied. A table that lacks a set has lost its sessions, and is
   * removed. Errors: nft's.
   */
  async areWhole(): Promise<boolean> {
    const listing = await listRules();
    const sets = this.#listing.match(/^\t(?:set|map) \w+ \{$/gm) ?? [];
    if (listing !== '' && !sets.every((line) => listing.includes(line))) {
      await nft(`delete table ${table}\n`);
    }
    return listing !== '' && listing === this.#listing;
  }
}

/** The table without what sessions change in it; empty if it is not there. */
async function listRules(): Promise<string> {
  const list = (...args: string[]) =>
    run('nft', args, { maxBuffer: 1024 * 1024 }).then(
      ({ stdout }) => stdout,
      () => '',
    );
  const [rules, refused] = await Promise.all([
    list('--stateless', '--terse', 'list', 'table', ...table.split(' ')),
    list('list', 'set', ...table.split(' '), 'refused4'),
  ]);
  return rules && rules + refused;
}

/** The bytes of new flows of all clients. Errors: nft's. */
export async function flowBytes(): Promise<FlowBytes> {
  const [begun = [], departed = []] = await Promise.all(['begun', 'departed'].map(elementsOf));
  return { begun: begun[0]?.bytes ?? 0, departed: departed[0]?.bytes ?? 0 };
}

/** Adds a session to the table, for `nft -f`. */
export function openingLines(session: KernelSession): string {
  const { address, zone, exit_ip, exit_ports, note } = session;
  const add = (name: string, element: string) => `create element ${table} ${name} { ${element} }\n`;
  return [
    add('up', `${address} comment "${note}"`),
    add('down', address),
    add('exit', `${address} : ${exit_ip}`),
    ...(exit_ports
      ? [add('ports', `${address} : ${exit_ip} . ${exit_ports.first}-${exit_ports.last}`)]
      : []),
    add('zone', `${address} : ${zone}`),
    add('current', `${address} . ${zone}`),
    add('open', address),
  ].join('');
}

/** Removes closed sessions from the table, for `nft -f`. */
export function forgettingLines(sessions: readonly SessionFlows[]): string {
  const remove = (name: string, elements: string[]) =>
    elements.length > 0 ? `delete element ${table} ${name} { ${elements.join(', ')} }\n` : '';
  const addressesOf = (flows: readonly SessionFlows[]) => flows.map(({ address }) => address);
  // Sessions of an older agent have no zone.
  const zoned = sessions.filter(({ zone }) => zone !== 0);
  const pairs = (separator: string) =>
    zoned.map(({ address, zone }) => `${address} ${separator} ${zone}`);
  return [
    ...['up', 'down', 'exit'].map((name) => remove(name, addressesOf(sessions))),
    remove('ports', addressesOf(sessions.filter(({ exit_ports }) => exit_ports))),
    remove('zone', pairs(':')),
    remove('current', pairs('.')),
  ].join('');
}

/** The sessions in the table. */
export const nftSessions: KernelSessions = {
  /**
   * Reloading the machine's own rules removes all others. It queries a set that never grows: nft
   * reads everything in the sets that it lists.
   */
  isThere() {
    const list = run('nft', ['list', 'set', ...table.split(' '), 'refused4']);
    return list.then(
      () => true,
      () => false,
    );
  },

  open(session) {
    return nft(openingLines(session));
  },

  close(addresses) {
    const of = `element ${table} open { ${addresses.join(', ')} }`;
    return nft(`add ${of}\ndelete ${of}\n`);
  },

  forget(sessions) {
    return nft(forgettingLines(sessions));
  },

  async list() {
    const [up, down] = await Promise.all([elementsOf('up'), elementsOf('down')]);
    const downBytes = new Map(down.map(({ address, bytes }) => [address, bytes]));
    return up.map(({ address, note, bytes }) => {
      return { address, note, up: bytes, down: downBytes.get(address) ?? 0 };
    });
  },

  async listOpen() {
    return new Set((await elementsOf('open')).map(({ address }) => address));
  },
};

interface Element {
  address: string;
  note: string;
  bytes: number;
}

async function elementsOf(name: string): Promise<Element[]> {
  const list = ['-j', 'list', 'set', ...table.split(' '), name];
  const { stdout } = await run('nft', list, { maxBuffer: 256 * 1024 * 1024 });
  const { nftables } = JSON.parse(stdout) as { nftables: Array<{ set?: { elem?: unknown[] } }> };
  const elements = nftables.flatMap(({ set }) => set?.elem ?? []);
  return elements.map((element) => {
    if (typeof element === 'string') return { address: element, note: '', bytes: 0 };
    const { elem } = element as {
      elem: { val: string; comment?: string; counter?: { bytes: number } };
    };
    return { address: elem.val, note: elem.comment ?? '', bytes: elem.counter?.bytes ?? 0 };
  });
}
