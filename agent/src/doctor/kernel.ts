// The kernel: can connections be counted and closed, how many can be open, and are the proxy's
// ports safe from its own use?
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { fault, listed, type Outcome, ok, warning } from '../../../kit/src/doctor/check.ts';
import { connectionCaps, descriptorLimit } from '../connection_caps.ts';
import type { NodeCheck, Subject } from './subject.ts';

const run = promisify(execFile);
/** Fewer are a shell's usual limit: enough for a few dozen clients with a browser each. */
const fewDescriptors = 8192;

export const kernelChecks: NodeCheck[] = [
  { name: 'kernel', run: kernel },
  { name: 'descriptors', run: async (subject) => descriptors(subject) },
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
    if (sockets instanceof Error) {
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
  const [first = 0, last = 0] = sysctl('net/ipv4/ip_local_port_range').split(/\s+/).map(Number);
  const reserved = sysctl('net/ipv4/ip_local_reserved_ports').trim();
  const wanted = Array.from(listeners?.keys() ?? [], (port) => port + config.port_shift);
  const within = wanted.filter((port) => port >= first && port <= last && !isIn(reserved, port));
  if (within.length > 0) {
    const range = `${Math.min(...within)}-${Math.max(...within)}`;
    outcomes.push(
      warning(
        `The kernel takes ports of ${first} to ${last} for connections of this machine, ${listed(within.map(String))} among them: a port of the proxy may be taken when it is to open.`,
        `sysctl -w net.ipv4.ip_local_reserved_ports=${reserved ? `${reserved},` : ''}${range}, and in /etc/sysctl.d`,
      ),
    );
  }
  if (outcomes.length > 0) return outcomes;
  return [ok('The kernel tells of connections, and leaves the ports of the proxy alone.')];
}

/** Whether the port is in a list such as `8080,9000-9010`. */
function isIn(list: string, port: number): boolean {
  return list.split(',').some((part) => {
    const [first = '', last = first] = part.split('-');
    return first !== '' && port >= Number(first) && port <= Number(last);
  });
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
    pid === undefined
      ? 'ulimit -Hn; the unit of the package has LimitNOFILE=65536:524288'
      : 'systemctl edit exitward-agent: LimitNOFILE=65536:524288',
  );
}
