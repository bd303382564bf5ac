// The resources of processes, with those that they have started: memory, and time of the processor.
import { readdirSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';

export interface Usage {
  memory_mb: number;
  /** Since it began. */
  cpu_seconds: number;
}

/** The kernel counts in hundredths. */
const ticks = 100;

/** Of a process and all below it, by the names of their programs. */
export function usageOf(root: number): Map<string, Usage> {
  const all = new Map<number, { parent: number; name: string; cpu_seconds: number }>();
  for (const pid of readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)) {
    const stat = read(`/proc/${pid}/stat`);
    // The name before it may hold anything, also a parenthesis.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    all.set(pid, {
      // Squid's helpers are in parentheses.
      name: basename(read(`/proc/${pid}/cmdline`).split('\0')[0] ?? '').replace(/[()]/g, ''),
      parent: Number(fields[1]),
      cpu_seconds: (Number(fields[11]) + Number(fields[12])) / ticks,
    });
  }
  const isBelow = (pid: number): boolean =>
    pid === root || (all.has(pid) && isBelow(all.get(pid)?.parent ?? 0));
  const used = new Map<string, Usage>();
  for (const [pid, { name, cpu_seconds }] of all) {
    // One that has just ended has no name.
    if (!isBelow(pid) || name === '') continue;
    // Squid's helper is a process of Node, too.
    const called = name === 'node' && pid !== root ? 'decider' : name;
    const before = used.get(called) ?? { memory_mb: 0, cpu_seconds: 0 };
    used.set(called, {
      memory_mb: before.memory_mb + memory_mb(pid),
      cpu_seconds: before.cpu_seconds + cpu_seconds,
    });
  }
  return used;
}

/** Resident memory of a process in MB; 0 when it is gone. */
export function memory_mb(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(read(`/proc/${pid}/status`))?.[1] ?? 0) / 1024;
}

/** Milliseconds that the threads of a process and of this one were ready and had no processor. */
export function waitedMs(pid: number | undefined): number {
  const of = (path: string) => Number(readFileSync(path, 'utf8').split(' ')[1]) / 1e6;
  return of(`/proc/${pid}/schedstat`) + of('/proc/self/schedstat');
}

/** Of a process of Node since it began, with its threads and without programs that it started. */
export const cpuSecondsOf = (pid: number) => usageOf(pid).get('node')?.cpu_seconds ?? 0;

export const totalOf = (used: Map<string, Usage>, what: keyof Usage) =>
  Array.from(used.values()).reduce((sum, time) => sum + time[what], 0);

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
