// The command that runs Squid as its own user from the start, so that neither Squid nor its helpers
// can become root.
import { readFileSync } from 'node:fs';
import { mayDropRights, rightsOf } from '../../rights.ts';
import type { UnixUser } from './unix_user.ts';

const lowPorts = '+net_bind_service';
/** The bit of CAP_NET_BIND_SERVICE. */
const mayListenLow = 1n << 10n;

/**
 * The command for a program and its arguments. Of root's rights, Squid keeps only the one to listen
 * on low ports, and only if one of its ports needs it. Without a user the command is unchanged.
 */
export function commandAs(
  user: UnixUser | undefined,
  [program, ...args]: readonly [string, ...string[]],
  ports: readonly number[] = [],
): [string, string[]] {
  if (!user) return [program, args];
  const capabilities = needsRight(ports) ? [lowPorts] : [];
  const options = [
    ...['--reuid', String(user.uid), '--regid', String(user.gid), '--init-groups'],
    '--no-new-privs',
    // Only a process with CAP_SETPCAP can drop the bounding set.
    `--inh-caps=${['-all', ...capabilities].join(',')}`,
    ...capabilities.map((capability) => `--ambient-caps=-all,${capability}`),
    ...(mayDropRights() ? [`--bounding-set=${['-all', ...capabilities].join(',')}`] : []),
  ];
  return ['setpriv', [...options, '--', program, ...args]];
}

/** Whether a process that was started in this way, for other ports, may not listen on these. */
export function lacksRight(
  user: UnixUser | undefined,
  ports: readonly number[],
  pid: number,
): boolean {
  return user !== undefined && needsRight(ports) && (rightsOf(pid) & mayListenLow) === 0n;
}

/**
 * Whether a port needs the right. A right that this process lacks, as in a container, cannot be
 * given; those ports become faults.
 */
function needsRight(ports: readonly number[]): boolean {
  const isLow = ports.some((port) => port < firstFreePort());
  return isLow && (rightsOf('self') & mayListenLow) !== 0n;
}

/** The first port that needs no special right. */
function firstFreePort(): number {
  try {
    return Number(readFileSync('/proc/sys/net/ipv4/ip_unprivileged_port_start', 'latin1'));
  } catch {
    return 1024;
  }
}
