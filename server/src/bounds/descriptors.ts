// The file descriptors that this process may have: how many of them are for connections.
import { readFileSync } from 'node:fs';

/** Databases, files, listeners, the log, what the runtime itself opens, and connections while they are refused. */
const maxOtherDescriptors = 128;
/** Where the limit cannot be read: that of most systems. */
const usual = 1024;

/** The limit of this process at its start. The runtime has raised it as far as it may be. */
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

/** The connections that fit in the limit beside all else. */
export function connectionsWithin(limit: number): number {
  return limit - Math.min(maxOtherDescriptors, Math.floor(limit / 2));
}
