// The rights (Linux capabilities) of processes, as the kernel tells them.
import { readFileSync } from 'node:fs';

/** The capability by which a process may drop others for good (CAP_SETPCAP). */
const may_drop = 1n << 8n;

/** The capabilities that are in effect for a process, a bit each. */
export function rightsOf(pid: number | 'self'): bigint {
  const status = readFileSync(`/proc/${pid}/status`, 'latin1');
  const [, effective = '0'] = /^CapEff:\s*(\w+)/m.exec(status) ?? [];
  return BigInt(`0x${effective}`);
}

/** Whether this process may take rights away for good. */
export function mayDropRights(): boolean {
  return (rightsOf('self') & may_drop) !== 0n;
}
