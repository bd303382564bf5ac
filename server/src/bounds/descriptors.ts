// The connections that this process can carry, by its file descriptors and its memory.
import { readFileSync } from 'node:fs';
import { totalmem } from 'node:os';

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

/** More descriptors are not used. */
const maxDescriptors = 65_536;
/** A connection with TLS and a request. */
const connectionBytes = 64 * 1024;
/** The part of the memory that connections may have. */
const memoryShare = 1 / 4;
const leastByMemory = 4096;

/** The maximum number of connections, if the operator sets none. */
export function usualConnections(
  descriptors = descriptorLimit(),
  memoryBytes = Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY),
): number {
  const byMemory = Math.max(
    leastByMemory,
    Math.floor((memoryBytes * memoryShare) / connectionBytes),
  );
  return Math.min(byMemory, connectionsWithin(Math.min(descriptors, maxDescriptors)));
}
