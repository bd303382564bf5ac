// Backpressure: a stream to a node waits until the node has read, instead of piling up in memory.
import { once } from 'node:events';
import type { Writable } from 'node:stream';

/** How long a node may stop reading what it requested. */
export const maxStalledSeconds = 30;

/**
 * Resolves when all that was written is read, or the stream is closed. Errors: when that takes
 * longer.
 */
export async function untilRead(stream: Writable, stalled_seconds: number): Promise<void> {
  if (stream.destroyed) return;
  const over = new AbortController();
  const end = () => over.abort();
  const timer = setTimeout(end, stalled_seconds * 1000);
  try {
    // The losing listener is removed, since a stream waits many times.
    const { signal } = over;
    await Promise.race([once(stream, 'drain', { signal }), once(stream, 'close', { signal })]);
  } catch (error) {
    if (!over.signal.aborted) throw error;
    throw new Error('The node does not read what it asked for.');
  } finally {
    clearTimeout(timer);
    over.abort();
  }
}
