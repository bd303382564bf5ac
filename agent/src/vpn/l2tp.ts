// L2TP (RFC 2661) inside charon's transport mode. Each exit has a daemon xl2tpd, which starts a
// pppd for each client. The kernel carries the packets.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolderDurably, replaceDurably } from '../../../kit/src/durable.ts';
import type { Clock } from '../clock.ts';
import type { VpnSettings } from '../config.ts';
import { Daemon, endIfThere, readIfThere } from './daemon.ts';
import { gatewayOf, slotOf } from './pool.ts';
import { type PppLink, PppLogins, type PppLoginsOptions } from './ppp_logins.ts';

export interface L2tpOptions extends Pick<PppLoginsOptions, 'evaluate' | 'log'> {
  /** Its own folder. */
  dir: string;
  vpn: Pick<VpnSettings, 'xl2tpd' | 'pool' | 'dns'>;
  clock: Clock;
}

/** With PPP, L2TP, UDP, ESP and UDP around it, an IP packet fits into 1500 bytes. */
const largestPacket = 1400;

export class L2tp {
  readonly #options: L2tpOptions;
  /** By exit. */
  readonly #daemons = new Map<string, Daemon>();
  readonly #logins: PppLogins;

  constructor(options: L2tpOptions) {
    this.#options = options;
    makeFolderDurably(options.dir);
    const findLink = (pid: number) => this.findLink(pid);
    this.#logins = new PppLogins({ ...options, findLink });
    // Daemons of an earlier agent.
    for (const exit of this.#slots().keys()) this.#daemons.set(exit, this.#daemonOf(exit));
  }

  /** Runs a daemon at each of these exits, and at no other. Errors: one does not run. */
  async offer(exits: readonly string[]): Promise<void> {
    if (exits.length > 0) await this.#logins.listen();
    for (const [exit, daemon] of this.#daemons) {
      if (exits.includes(exit)) continue;
      await daemon.stop();
      this.#daemons.delete(exit);
    }
    const slots = this.#assign(exits);
    for (const exit of exits) {
      const range = slotOf(this.#options.vpn.pool, slots.get(exit) ?? 0);
      if (!range) throw new Error(`EXITWARD_AGENT_VPN_POOL has no room for ${exits.length} exits`);
      const daemon = this.#daemons.get(exit) ?? this.#daemonOf(exit);
      this.#daemons.set(exit, daemon);
      const [, isNew] = [
        this.#replace(`${exit}.options`, this.#pppOptions()),
        this.#replace(`${exit}.conf`, this.#conf(exit, range)),
      ];
      // Each pppd reads its options at its start; the daemon reads its configuration only once.
      if (isNew) await daemon.stop();
      if (daemon.find() !== undefined) continue;
      const isBroken = !isNew && daemon.hasJustStarted;
      this.#endLinks(exit);
      await daemon.start();
      if (isBroken) throw new Error(`xl2tpd for ${exit} ends as soon as it has started`);
    }
  }

  /** Stops responding to logins. The daemons keep running. */
  close(): void {
    this.#logins.close();
  }

  /** Stops them, and with them their tunnels. */
  async stop(): Promise<void> {
    await Promise.all([...this.#daemons.values()].map((daemon) => daemon.stop()));
  }

  /** The link of a pppd process; undefined: it is not one of ours. */
  findLink(pid: number): PppLink | undefined {
    const args = (readIfThere(`/proc/${pid}/cmdline`) ?? '').split('\0');
    const after = (name: string) => args[args.indexOf(name) + 1];
    const exit = [...this.#daemons.keys()].find(
      (ip) => args.includes('file') && after('file') === join(this.#options.dir, `${ip}.options`),
    );
    const [, address] = args.map((arg) => /^[\d.]+:([\d.]+)$/.exec(arg)).find(Boolean) ?? [];
    const source = args.includes('ipparam') ? after('ipparam') : undefined;
    if (exit === undefined || address === undefined || source === undefined) return undefined;
    return { address, exit_ip: exit, source };
  }

  /** The active links, with their processes of pppd. */
  links(): Array<PppLink & { pppd: number }> {
    const up = routedByPpp();
    const links: Array<PppLink & { pppd: number }> = [];
    for (const daemon of this.#daemons.values()) {
      const pid = daemon.find();
      const children = pid && readIfThere(`/proc/${pid}/task/${pid}/children`);
      for (const child of (children || '').split(' ').filter(Boolean)) {
        const link = this.findLink(Number(child));
        if (link && up.has(link.address)) links.push({ ...link, pppd: Number(child) });
      }
    }
    return links;
  }

  /** Ends a dead daemon's links, whose addresses the next daemon reuses. */
  #endLinks(exit: string): void {
    for (const pid of readdirSync('/proc').map(Number)) {
      if (pid > 0 && this.findLink(pid)?.exit_ip === exit) endIfThere(pid, 'SIGKILL');
    }
  }

  #daemonOf(exit: string): Daemon {
    const { dir, vpn, clock } = this.#options;
    const at = (ending: string) => join(dir, `${exit}.${ending}`);
    const files = [
      '-c',
      at('conf'),
      '-s',
      at('secrets'),
      '-p',
      at('xl2tpd.pid'),
      '-C',
      at('control'),
    ];
    return new Daemon({
      command: [vpn.xl2tpd, '-D', ...files],
      dir,
      pid_file: at('pid'),
      mark: ['EXITWARD_L2TP', at('conf')],
      clock,
    });
  }

  /** Each exit keeps its part of the pool for as long as it is an exit. */
  #assign(exits: readonly string[]): Map<string, number> {
    const before = this.#slots();
    const slots = new Map(
      exits.flatMap((exit) => {
        const slot = before.get(exit);
        return slot === undefined ? [] : [[exit, slot]];
      }),
    );
    for (const exit of exits) {
      if (slots.has(exit)) continue;
      const occupied = new Set(slots.values());
      let slot = 0;
      while (occupied.has(slot)) slot += 1;
      slots.set(exit, slot);
    }
    this.#replace('slots.json', JSON.stringify(Object.fromEntries(slots)));
    return slots;
  }

  #slots(): Map<string, number> {
    const text = readIfThere(join(this.#options.dir, 'slots.json'));
    return new Map(Object.entries(JSON.parse(text || '{}') as Record<string, number>));
  }

  /** Returns whether it had to be written. */
  #replace(name: string, text: string): boolean {
    const path = join(this.#options.dir, name);
    if (readIfThere(path) === text) return false;
    replaceDurably(path, text);
    return true;
  }

  #conf(exit: string, { first, last }: { first: string; last: string }): string {
    return `; Written by exitward-agent.
[global]
listen-addr = ${exit}
auth file = ${join(this.#options.dir, `${exit}.secrets`)}
[lns default]
local ip = ${gatewayOf(this.#options.vpn.pool)}
ip range = ${first}-${last}
require authentication = yes
pass peer = yes
length bit = yes
pppoptfile = ${join(this.#options.dir, `${exit}.options`)}
`;
  }

  /**
   * pppd's options: MS-CHAPv2 first, then plain passwords, for proxy access tokens. The name is not
   * in the machine's own files of secrets.
   */
  #pppOptions(): string {
    return `# Written by exitward-agent.
name exitward-vpn
require-mschap-v2
require-pap
plugin winbind.so
ntlm_auth-helper "${this.#logins.helper}"
${this.#options.vpn.dns
  .slice(0, 2)
  .map((server) => `ms-dns ${server}`)
  .join('\n')}
mtu ${largestPacket}
mru ${largestPacket}
noccp
noipv6
novj
nodefaultroute
noproxyarp
lcp-echo-interval 30
lcp-echo-failure 4
`;
  }
}

/**
 * The addresses that are routed to a PPP device, as pppd sets it once its client has been let in.
 */
function routedByPpp(): Set<string> {
  const lines = readFileSync('/proc/net/route', 'latin1').split('\n');
  return new Set(
    lines.flatMap((line) => {
      const [device = '', destination = ''] = line.split('\t');
      if (!device.startsWith('ppp')) return [];
      // In this machine's byte order.
      const bytes = Buffer.alloc(4);
      bytes.writeUInt32LE(Number.parseInt(destination, 16));
      return [bytes.join('.')];
    }),
  );
}
