// The rights (Linux capabilities) of processes, as the kernel reports them.
import { readFileSync } from 'node:fs';

/** The capability to drop others for good (CAP_SETPCAP). */
const mayDrop = 1n << 8n;

/** The effective capabilities of a process, one bit each. */
export function rightsOf(pid: number | 'self'): bigint {
  const status = readFileSync(`/proc/${pid}/status`, 'latin1');
  const [, effective = '0'] = /^CapEff:\s*(\w+)/m.exec(status) ?? [];
  return BigInt(`0x${effective}`);
}

/** Whether this process may drop rights for good. */
export function mayDropRights(): boolean {
  return (rightsOf('self') & mayDrop) !== 0n;
}
