// The machine as a node: has it joined, does its agent run, and does the agent have its rights?
import { readFileSync } from 'node:fs';
import { fault, type Outcome, ok, warning } from '../../../kit/src/doctor/check.ts';
import type { ConnectionLogState } from '../connection_log/connection_log.ts';
import { installation } from '../installation.ts';
import { otherEngine } from '../required_programs.ts';
import type { NodeCheck, Subject } from './subject.ts';

export const nodeChecks: NodeCheck[] = [
  { name: 'node', run: async (subject) => node(subject) },
  { name: 'connection_log', run: async (subject) => connectionLog(subject) },
  { name: 'rights', run: async (subject) => rights(subject) },
];

function node({ identity, status, config }: Subject): Outcome[] {
  if (!identity) return [ok('This machine has not joined a network yet.')];
  const sentence = `This machine is node ${identity.node} of ${identity.server}`;
  if (!status) {
    return [warning(`${sentence}, and no agent runs on ${config.state_dir}.`, installation.start)];
  }
  const state =
    status.state === 'following'
      ? ok(`${sentence}; its agent ${status.version} follows the control plane.`)
      : status.state === 'revoked'
        ? fault(
            `${sentence}, and the network revoked it: no client is let in.`,
            'exitward-agent join --again URL CODE, with a new code',
          )
        : warning(
            `${sentence}; its agent ${status.version} cannot reach the control plane at the moment.`,
            installation.isService
              ? 'journalctl -u exitward-agent -n 50'
              : 'the log of exitward-agent',
          );
  const faults = status.faults.map(({ kind, message }) =>
    fault(`The agent says: ${message}`, `docs/faults.md explains the fault ${kind}`),
  );
  return [state, ...faults];
}

/** The log holds personal data, so the doctor always says whether it is on. */
function connectionLog({ config, status }: Subject): Outcome {
  const { days, mode: setting } = config.connection_log;
  const { mode, kept_since }: ConnectionLogState = status?.connection_log ?? { mode: setting };
  const since = kept_since && new Date(kept_since * 1000).toISOString().slice(0, 10);
  if (mode !== 'off') {
    const destinations = mode === 'destinations' ? ', with their destinations,' : '';
    return ok(
      `This node logs who used its exits${destinations} for ${days} days${since ? `; its files begin on ${since}` : ''}.`,
    );
  }
  const olderFiles = since ? ` any more; its files, from ${since} on, are removed as they age` : '';
  return ok(`This node does not log who used its exits${olderFiles}.`);
}

interface Right {
  name: string;
  bit: number;
  /** The consequence if it is missing. */
  then: string;
  isNeeded: boolean;
}

/** The rights in packaging/exitward-agent/exitward-agent.service. */
const rightsOfSquid: Right[] = [
  ['CHOWN', 0, "Squid cannot be given the agent's files", true],
  ['DAC_OVERRIDE', 1, "the agent cannot work in the folder of Squid's user", true],
  ['KILL', 5, 'Squid cannot be stopped', true],
  ['SETGID', 6, 'Squid cannot be run as its own user', true],
  ['SETUID', 7, 'Squid cannot be run as its own user', true],
  ['SETPCAP', 8, 'Squid keeps rights in its bounding set that it does not need', false],
  ['NET_BIND_SERVICE', 10, 'no port below 1024 can be opened', false],
  ['NET_ADMIN', 12, 'connections cannot be ended when a right ends', true],
  ['SYS_PTRACE', 19, 'a port that Squid could not open is not noticed', false],
].map(([name, bit, then, isNeeded]) => ({ name, bit, then, isNeeded }) as Right);

function rights({ config, pid }: Subject): Outcome {
  if (config.engine === 'embedded') {
    return ok('The embedded engine needs no rights except to open its ports.');
  }
  const whose = pid === undefined ? 'This process' : 'The agent';
  const effective = effectiveOf(pid);
  const remedy = installation.isService
    ? installation.restart
    : 'run it as root with all rights; in a container: --cap-add';
  if (process.getuid?.() !== 0) {
    return fault(
      'This is not root. Starting Squid as its own user needs root, and so does checking everything.',
      `sudo exitward-agent doctor; or ${otherEngine}`,
    );
  }
  const missing = rightsOfSquid.filter(({ bit }) => (effective & (1n << BigInt(bit))) === 0n);
  const [first] = missing;
  if (!first) return ok(`${whose} has the rights that the agent needs.`);
  const names = missing.map(({ name }) => `CAP_${name}`).join(', ');
  const worst = missing.find(({ isNeeded }) => isNeeded);
  return (worst ? fault : warning)(`${whose} lacks ${names}: ${(worst ?? first).then}.`, remedy);
}

function effectiveOf(pid: number | undefined): bigint {
  const status = readFileSync(`/proc/${pid ?? 'self'}/status`, 'latin1');
  return BigInt(`0x${/^CapEff:\s*(\w+)/m.exec(status)?.[1] ?? '0'}`);
}
