// The kernel: can connections be counted and closed, how many can be open, and does it leave the
// ports of the proxy free?
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { fault, listed, type Outcome, ok, warning } from '../../../kit/src/doctor/check.ts';
import { connectionCaps, descriptorLimit } from '../connection_caps.ts';
import { isOutOfPorts } from '../health/exit_addresses.ts';
import { installation } from '../installation.ts';
import { readOutgoingPorts } from '../outgoing_ports.ts';
import { exitsOf } from './ports.ts';
import { squidVersion } from './programs.ts';
import type { NodeCheck, Subject } from './subject.ts';

const run = promisify(execFile);
/** A shell's usual limit is lower: enough for a few dozen clients with a browser each. */
const fewDescriptors = 8192;
/** The kernel's default is 28,232. */
const fewPorts = 28_000;
/** The range is above the ports of the usual port scheme. */
const widenPorts =
  "sysctl -w net.ipv4.ip_local_port_range='13000 65535', and in /etc/sysctl.d; or more exits";

export const kernelChecks: NodeCheck[] = [
  { name: 'kernel', run: kernel },
  { name: 'descriptors', run: async (subject) => descriptors(subject) },
  { name: 'outgoing_ports', run: outgoing },
];

async function kernel(subject: Subject): Promise<Outcome[]> {
  const { config, listeners } = subject;
  const outcomes: Outcome[] = [];
  if (config.engine === 'squid') {
    // The bytes of open connections come from `ss`. It prints nothing at all if the kernel does not
    // provide them.
    const sockets = await run('ss', ['-tinHO', 'state', 'listening']).catch(
      (error: Error) => error,
    );
    // A missing `ss` is a finding of `programs`.
    if (sockets instanceof Error && (sockets as NodeJS.ErrnoException).code !== 'ENOENT') {
      outcomes.push(
        fault(
          `The kernel does not report its connections (${sockets.message.trim()}): open ones are not counted.`,
          'modprobe tcp_diag',
        ),
      );
    }
  }
  if (/^1/.test(sysctl('net/ipv4/ip_nonlocal_bind'))) {
    outcomes.push(
      warning(
        'ip_nonlocal_bind is on, which the agent does not need: an exit that is not on this machine is not noticed.',
        'sysctl -w net.ipv4.ip_nonlocal_bind=0, and in /etc/sysctl.d',
      ),
    );
  }
  const { first, last, isReserved } = readOutgoingPorts();
  const reserved = sysctl('net/ipv4/ip_local_reserved_ports').trim();
  const wanted = Array.from(listeners?.keys() ?? [], (port) => port + config.port_shift);
  const within = wanted.filter((port) => port >= first && port <= last && !isReserved(port));
  if (within.length > 0) {
    const range = `${Math.min(...within)}-${Math.max(...within)}`;
    outcomes.push(
      warning(
        `The kernel uses the ports ${first} to ${last} for outgoing connections. ${listed(within.map(String))} of the proxy are among them, and may be in use when the proxy opens them.`,
        `sysctl -w net.ipv4.ip_local_reserved_ports=${reserved ? `${reserved},` : ''}${range}, and in /etc/sysctl.d`,
      ),
    );
  }
  if (outcomes.length > 0) return outcomes;
  return [ok('The kernel reports connections, and leaves the ports of the proxy alone.')];
}

/** How long a closed connection keeps its port. */
const closedSeconds = 60;
/** Squid names the destination before the kernel chooses a port, from this version on. */
const sharingSquid = 6;

/** How many connections can leave from an exit. */
async function outgoing(subject: Subject): Promise<Outcome[]> {
  const { config } = subject;
  const { first, last, count } = readOutgoingPorts();
  const squid = await squidVersion(config);
  const isShared = squid === undefined || squid >= sharingSquid;
  const busy: string[] = [];
  for (const ip of isShared ? [] : exitsOf(subject)) if (await isOutOfPorts(ip)) busy.push(ip);
  const sentence = isShared
    ? `An exit has ${count} ports for connections to each destination`
    : `With Squid ${squid} an exit has ${count} ports for all its connections, those of the last minute included: ${Math.floor(count / closedSeconds)} new ones a second`;
  if (busy.length > 0) {
    return [fault(`${sentence}. All are taken at ${listed(busy)}: requests fail.`, widenPorts)];
  }
  if (count < fewPorts) {
    return [
      warning(`${sentence} (${first} to ${last}); expected ${fewPorts} or more.`, widenPorts),
    ];
  }
  return [ok(`${sentence}.`)];
}

function sysctl(name: string): string {
  try {
    return readFileSync(`/proc/sys/${name}`, 'utf8').trim();
  } catch {
    return '';
  }
}

function descriptors({ config, pid }: Subject): Outcome {
  const limit = descriptorLimit(pid);
  const { all, address } = connectionCaps(config.caps, limit);
  const whose = pid === undefined ? 'A process that is started here' : 'The agent';
  const sentence = `${whose} may open ${limit} descriptors: ${all} connections in all, ${address} of one address`;
  if (limit >= fewDescriptors) return ok(`${sentence}.`);
  return warning(
    `${sentence}; expected ${fewDescriptors} or more.`,
    installation.isService
      ? 'systemctl edit exitward-agent: LimitNOFILE=65536:524288'
      : `ulimit -n 65536, then: ${installation.start}`,
  );
}
