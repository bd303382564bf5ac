// The machine: what it lacks to serve a VPN, each with the command that fixes it.
import { execFile } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { promisify } from 'node:util';
import ipaddr from 'ipaddr.js';
import type { Network } from '../../../kit/src/address.ts';
import type { VpnSettings } from '../config.ts';

export interface Lack {
  /** A clause without a full stop. */
  sentence: string;
  remedy: string;
}

/** The pppd that xl2tpd starts. */
const pppd = '/usr/sbin/pppd';
/** Exists if the kernel supports PPP over L2TP. */
const pppInL2tp = '/proc/net/pppol2tp';
const run = promisify(execFile);
const forwarding = '/proc/sys/net/ipv4/ip_forward';
/** IKE, and IKE behind a NAT. */
const ports = [500, 4500];
/** The devices of clients' tunnels, which have addresses of the pool. */
const tunnelDevice = /^(ipsec|ppp)\d/;

type LackSettings = Pick<VpnSettings, 'charon' | 'pool'>;

/** Everything that is missing. */
export function* listLacks({ charon, pool }: LackSettings): Generator<Lack, void> {
  if (process.getuid?.() !== 0) {
    yield { sentence: 'the agent does not run as root', remedy: 'run it as root' };
  }
  if (!existsSync(charon)) {
    yield {
      sentence: `there is no ${charon}`,
      remedy: 'apt-get install charon-systemd libcharon-extra-plugins',
    };
  }
  if (readFileSync(forwarding, 'latin1').trim() !== '1') {
    yield {
      sentence: 'the kernel does not forward packets',
      remedy: 'sysctl -w net.ipv4.ip_forward=1, and in /etc/sysctl.d',
    };
  }
  const conflict = findPoolConflict(pool);
  if (conflict) yield conflict;
}

/**
 * A network of this machine that overlaps with the pool, such as Tailscale's: the VPN's rules would
 * cut the machine off from it, and perhaps from its administrator.
 */
export function findPoolConflict([base, bits]: Network): Lack | undefined {
  for (const [device, entries] of Object.entries(networkInterfaces())) {
    if (tunnelDevice.test(device)) continue;
    for (const { family, cidr } of entries ?? []) {
      if (family !== 'IPv4' || !cidr) continue;
      const [own, ownBits] = ipaddr.IPv4.parseCIDR(cidr);
      if (!own.match(base as ipaddr.IPv4, Math.min(ownBits, bits))) continue;
      return {
        sentence: `the addresses for clients, ${base}/${bits}, overlap with ${cidr} of ${device}`,
        remedy: 'EXITWARD_AGENT_VPN_POOL: a network that nothing else uses, such as 10.211.0.0/16',
      };
    }
  }
  return undefined;
}

/** The first thing that is missing; undefined: nothing is. */
export function findLack(settings: LackSettings): Lack | undefined {
  return [...listLacks(settings)][0];
}

/** The first thing that only vpn-l2tp lacks; undefined: nothing is missing. */
export function findLackOfL2tp({ xl2tpd, ipsec }: VpnSettings): Lack | undefined {
  if (ipsec === 'userspace') {
    return {
      sentence: 'only the kernel can encrypt packets of L2TP',
      remedy: 'EXITWARD_AGENT_VPN_IPSEC=kernel',
    };
  }
  const missing = [xl2tpd, pppd].find((program) => !existsSync(program));
  if (missing !== undefined) {
    return { sentence: `there is no ${missing}`, remedy: 'apt-get install xl2tpd ppp' };
  }
  if (!existsSync('/dev/ppp') || !existsSync(pppInL2tp)) {
    return {
      sentence: 'the kernel has no PPP over L2TP',
      remedy: 'modprobe l2tp_ppp, and l2tp_ppp in a file of /etc/modules-load.d',
    };
  }
  return undefined;
}

/** Whether there may be L2TP links, served or not. */
export function mayCarryPpp({ ipsec }: Pick<VpnSettings, 'ipsec'>): boolean {
  return ipsec === 'kernel' && existsSync(pppInL2tp);
}

/** Whether this is the only address by which other machines reach this one. */
export function isOnlyAddress(exit: string): boolean {
  const addresses = Object.values(networkInterfaces()).flatMap((entries) => entries ?? []);
  return addresses.every(
    ({ internal, scopeid, address }) => internal || scopeid || address === exit,
  );
}

/**
 * Whether a tunnel may carry IPv6. Without IPv6 on the machine, charon's own device rejects it, but
 * the kernel's policies accept it.
 */
export function canCarryIpv6({ ipsec }: Pick<VpnSettings, 'ipsec'>): boolean {
  const path = '/proc/sys/net/ipv6/conf/default/disable_ipv6';
  return existsSync(path) && (ipsec === 'kernel' || readFileSync(path, 'latin1').trim() === '0');
}

/**
 * Another program on the ports of IKE, such as Debian's own charon. Only for use while our charon
 * does not run.
 */
export async function findTakenPort(): Promise<Lack | undefined> {
  for (const port of ports) {
    const socket = createSocket('udp4');
    try {
      socket.bind(port);
      await once(socket, 'listening');
    } catch (error) {
      return {
        sentence: `UDP port ${port} cannot be listened on (${(error as NodeJS.ErrnoException).code})`,
        remedy: 'systemctl disable --now strongswan, or whatever else has it: ss -lunp',
      };
    } finally {
      socket.close();
    }
  }
  return undefined;
}

/** The exit code of `ip` when the kernel refuses. */
const refusedByKernel = 2;

/**
 * Detects a kernel that cannot encrypt packets: adds an ESP key, as charon does, and removes it at
 * once. No list shows this, since kernels load modules on demand. `inside`: a command in which this
 * runs; if that fails, nothing is reported.
 */
export async function findKernelLack(
  { ipsec }: Pick<VpnSettings, 'ipsec'>,
  inside: readonly string[] = [],
): Promise<Lack | undefined> {
  if (ipsec !== 'kernel') return undefined;
  const spi = `0x${randomInt(2 ** 31, 2 ** 32).toString(16)}`;
  const state = ['src', '127.0.0.1', 'dst', '127.0.0.1', 'proto', 'esp', 'spi', spi];
  const key = `0x${'01'.repeat(36)}`;
  const sealing = ['mode', 'tunnel', 'aead', 'rfc4106(gcm(aes))', key, '128'];
  try {
    await run('env', [...inside, 'ip', 'xfrm', 'state', 'add', ...state, ...sealing]);
  } catch (error) {
    const { code, stderr = '' } = error as Error & { code?: unknown; stderr?: string };
    if (code !== refusedByKernel) return undefined;
    return {
      sentence: `the kernel accepts no ESP keys (${stderr.trim().replace(/\.$/, '')})`,
      remedy: 'modprobe -a esp4 xfrm_user gcm, or EXITWARD_AGENT_VPN_IPSEC=userspace',
    };
  }
  if (inside.length > 0) return undefined;
  await run('ip', ['xfrm', 'state', 'delete', ...state]).catch(() => undefined);
  return undefined;
}
