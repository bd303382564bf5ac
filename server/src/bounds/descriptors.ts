// The file descriptors of this process: how many of them are for connections.
import { readFileSync } from 'node:fs';

/**
 * For databases, files, listeners, the log, the runtime itself, and connections that are being
 * refused.
 */
const maxOtherDescriptors = 128;
/** The limit of most systems, where the actual one cannot be read. */
const usual = 1024;

/** The limit of this process at its start. The runtime has raised it as far as it may. */
export function descriptorLimit(): number {
  try {
    const limits = readFileSync('/proc/self/limits', 'utf8');
    const soft = /^Max open files\s+(\w+)/m.exec(limits)?.[1];
    if (soft === 'unlimited') return Number.MAX_SAFE_INTEGER;
    return Number(soft) || usual;
  } catch {
    return usual;
  }
}

/** The number of connections that fit in the limit next to everything else. */
export function connectionsWithin(limit: number): number {
  return limit - Math.min(maxOtherDescriptors, Math.floor(limit / 2));
}
