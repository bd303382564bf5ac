// Live data: the server tells of each change by server-sent events, and what is shown is read again.
import { signal } from '@preact/signals';
import { credentials } from './api.ts';
import { queries } from './reading.ts';

/** Whether the server's events arrive; without them pages still read every minute. */
export const isLive = signal(false);

const pause_milliseconds = 150;
const longestWait_milliseconds = 15_000;

/**
 * Follows the events at `path` until `signal` says otherwise, and connects again when cut. Read with
 * fetch rather than EventSource, which could not carry the operator's token.
 */
export async function follow(path: string, signal: AbortSignal): Promise<void> {
  let failures = 0;
  while (!signal.aborted) {
    try {
      const response = await fetch(path, {
        headers: { accept: 'text/event-stream', ...credentials(path) },
        cache: 'no-store',
        signal,
      });
      if (!response.ok || !response.body) throw new Error(String(response.status));
      failures = 0;
      isLive.value = true;
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        if (value.includes('event: change')) readAgainSoon();
      }
    } catch {
      failures += 1;
    }
    isLive.value = false;
    if (signal.aborted) return;
    // The session may be over: reading says so.
    readAgainSoon();
    const longest = Math.min(longestWait_milliseconds, 500 * 2 ** failures);
    await new Promise((resolve) => setTimeout(resolve, Math.random() * longest));
  }
}

let timer: ReturnType<typeof setTimeout> | undefined;

/** Changes that come together are read together. */
function readAgainSoon(): void {
  if (timer) return;
  timer = setTimeout(() => {
    timer = undefined;
    void queries.invalidateQueries();
  }, pause_milliseconds);
}
