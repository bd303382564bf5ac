// The VPN's table in nftables: which addresses of the tunnels may pass, where to, from which exit, and how many bytes they did.
// The kernel keeps it, so that sessions and their counts outlive this process, and charon.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { type Network, refusedIpv4 } from '../address.ts';
import { networkText, nft } from '../firewall.ts';
import type { KernelSessions } from './sessions.ts';

const run = promisify(execFile);
const table = 'inet exitward_vpn';
const reject = 'counter reject with icmpx admin-prohibited';
/** Fits the tunnels of all clients: ESP in UDP over PPPoE takes less than 140 bytes of 1500. */
const segment = 1320;

export interface VpnFirewallOptions {
  pool: Network;
  pool6: string;
  /** Destinations that the operator allows although they are private or reserved. */
  allowed: readonly Network[];
  /** Destination ports that may not be reached. */
  refused_ports: readonly number[];
  /** Exits at which L2TP is served. */
  l2tp_exits: readonly string[];
}

/** The table, for `nft -f`. The sessions in it stay when it is applied again. */
export function vpnFirewallRules(options: VpnFirewallOptions): string {
  const { pool, pool6, allowed, refused_ports, l2tp_exits } = options;
  const pool4 = networkText(pool);
  const ours = allowed.filter(([base]) => base.kind() === 'ipv4').map(networkText);
  const except = ours.length > 0 ? `ip daddr != { ${ours.join(', ')} } ` : '';
  // Packets that did not come through a tunnel, and replies that would not go into one. libipsec has a device, the kernel a mark; each
  // client of PPP has a device, to which its address is routed.
  const outside = (side: string, device: string, address: string) => [
    `    ${side} missing ${device} != "ipsec0" ${address} != @ppp counter drop`,
    `    ${address} @ppp ${device} != "ppp*" counter drop`,
  ];
  const l2tp = l2tp_exits.length > 0 ? `{ ${l2tp_exits.join(', ')} } udp` : undefined;
  return [
    `table ${table} {`,
    '  set up { type ipv4_addr; flags dynamic; counter; }',
    '  set down { type ipv4_addr; flags dynamic; counter; }',
    '  set open { type ipv4_addr; }',
    '  set ppp { type ipv4_addr; }',
    `  set refused4 { type ipv4_addr; flags interval; elements = { ${refusedIpv4.join(', ')} } }`,
    '  map exit { type ipv4_addr : ipv4_addr; }',
    '  chain prerouting { type filter hook prerouting priority 0; policy accept; }',
    '  chain forward { type filter hook forward priority 0; policy accept; }',
    '  chain input { type filter hook input priority 0; policy accept; }',
    '  chain output { type filter hook output priority 0; policy accept; }',
    '  chain postrouting { type nat hook postrouting priority 100; policy accept; }',
    '  chain from_client { }',
    '  chain to_client { }',
    '}',
    ...['prerouting', 'forward', 'input', 'output', 'postrouting', 'from_client', 'to_client'].map(
      (chain) => `flush chain ${table} ${chain}`,
    ),
    `table ${table} {`,
    '  chain prerouting {',
    // Rejected rather than dropped: programs fall back to IPv4 at once, and nothing leaks past the exit. Ahead of the way that the
    // packet would take, as a machine without forwarding of IPv6 drops it there without a word.
    `    ip6 saddr ${pool6} ${reject}`,
    '  }',
    '  chain forward {',
    `    ip saddr ${pool4} jump from_client`,
    `    ip daddr ${pool4} jump to_client`,
    '  }',
    '  chain input {',
    `    ip saddr ${pool4} ${reject}`,
    // L2TP has no secrets of its own: it is served inside IPsec alone.
    ...(l2tp ? [`    ip daddr ${l2tp} dport 1701 meta ipsec missing counter drop`] : []),
    '  }',
    '  chain output {',
    ...(l2tp ? [`    ip saddr ${l2tp} sport 1701 rt ipsec missing counter drop`] : []),
    '  }',
    '  chain from_client {',
    ...outside('meta ipsec', 'iifname', 'ip saddr'),
    ...(l2tp ? ['    ip saddr @ppp fib saddr . iif oif missing counter drop'] : []),
    `    ip saddr != @open ${reject}`,
    `    ip daddr ${pool4} ${reject}`,
    `    ${except}ip daddr @refused4 ${reject}`,
    ...refused_ports.map((port) => `    meta l4proto { tcp, udp } th dport ${port} ${reject}`),
    `    tcp flags syn tcp option maxseg size set ${segment}`,
    '    update @up { ip saddr }',
    '  }',
    '  chain to_client {',
    `    ip daddr != @open counter drop`,
    ...outside('rt ipsec', 'oifname', 'ip daddr'),
    `    tcp flags syn tcp option maxseg size set ${segment}`,
    '    update @down { ip daddr }',
    '  }',
    '  chain postrouting {',
    '    snat ip to ip saddr map @exit',
    '  }',
    '}',
    '',
  ].join('\n');
}

/** The sessions in the table. */
export const nftSessions: KernelSessions = {
  /** Reloading the machine's own rules takes away all others. A set that never grows is asked for: nft reads all that it has of what it lists. */
  isThere() {
    const list = run('nft', ['list', 'set', ...table.split(' '), 'refused4']);
    return list.then(
      () => true,
      () => false,
    );
  },

  open({ address, exit_ip, is_ppp, note }) {
    const add = (name: string, element: string) => `create element ${table} ${name} { ${element} }`;
    const lines = [
      add('up', `${address} comment "${note}"`),
      add('down', address),
      add('exit', `${address} : ${exit_ip}`),
      ...(is_ppp ? [add('ppp', address)] : []),
      add('open', address),
    ];
    return nft(`${lines.join('\n')}\n`);
  },

  close(addresses) {
    const of = `element ${table} open { ${addresses.join(', ')} }`;
    return nft(`add ${of}\ndelete ${of}\n`);
  },

  forget(addresses) {
    const of = (name: string) => `element ${table} ${name} { ${addresses.join(', ')} }\n`;
    const lines = ['up', 'down', 'exit'].map((name) => `delete ${of(name)}`);
    return nft(`${lines.join('')}add ${of('ppp')}delete ${of('ppp')}`);
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
