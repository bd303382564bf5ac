// Live data: the server reports each change by server-sent events, and the page reads again.
import { signal } from '@preact/signals';
import { createParser } from 'eventsource-parser';
import { credentials } from './api.ts';
import { hear, type News } from './news.ts';
import { markReached, markUnreached } from './outage.ts';
import { isOld, queries } from './reading.ts';

/** Whether the server's events arrive; without them pages still read every minute. */
export const isLive = signal(false);

const pauseMs = 150;
const maxSilenceMs = 15_000;
/** The server sends something every 15 seconds; after a longer silence the connection is lost. */
const silenceMs = 40_000;
/** A browser has six connections to a server for all tabs, so a hidden tab closes its own. */
const hiddenMs = 5_000;

/**
 * Follows the events at `path` until `stop` is aborted, and reconnects when cut off. It uses fetch,
 * since EventSource cannot send the operator's token. `besides` is called for each change, and
 * after each silence.
 */
export async function follow(
  path: string,
  stop: AbortSignal,
  besides: () => void = () => undefined,
): Promise<void> {
  let failures = 0;
  readBesides = besides;
  while (!stop.aborted) {
    await untilSeen(stop);
    const attempt = new AbortController();
    const stopWatching = whenHidden(() => attempt.abort());
    try {
      await readEvents(path, AbortSignal.any([stop, attempt.signal]), () => {
        failures = 0;
      });
    } catch {
      failures += 1;
    } finally {
      stopWatching();
      isLive.value = false;
    }
    if (stop.aborted) return;
    // The tab is hidden: it reads and follows again when it is shown.
    if (attempt.signal.aborted) continue;
    // The session may be over, and changes may have been missed: reading again finds out.
    isCut = true;
    readAgainSoon();
    const longest = Math.min(maxSilenceMs, 500 * 2 ** failures);
    await new Promise((resolve) => setTimeout(resolve, Math.random() * longest));
  }
}

/** Resolves when the stream ends. Errors: when it cannot be opened, breaks, or falls silent. */
async function readEvents(path: string, stop: AbortSignal, opened: () => void): Promise<void> {
  const silence = new AbortController();
  let timer = setTimeout(() => silence.abort(), silenceMs);
  const hears = () => {
    markReached();
    clearTimeout(timer);
    timer = setTimeout(() => silence.abort(), silenceMs);
  };
  try {
    const response = await fetch(path, {
      headers: { accept: 'text/event-stream', ...credentials(path) },
      cache: 'no-store',
      signal: AbortSignal.any([stop, silence.signal]),
    }).catch((error: unknown) => {
      if (!stop.aborted) markUnreached();
      throw error;
    });
    if (!response.ok || !response.body) throw new Error(String(response.status));
    opened();
    isLive.value = true;
    const parser = createParser({
      onEvent: ({ event, data }) => {
        if (event !== 'change') return;
        hear(JSON.parse(data) as News);
        readAgainSoon();
      },
    });
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      hears();
      parser.feed(value);
    }
  } finally {
    clearTimeout(timer);
  }
}

/** Resolves when the page is visible. */
async function untilSeen(stop: AbortSignal): Promise<void> {
  while (document.visibilityState === 'hidden' && !stop.aborted) {
    await new Promise<void>((resolve) => {
      document.addEventListener('visibilitychange', () => resolve(), { once: true, signal: stop });
      stop.addEventListener('abort', () => resolve(), { once: true });
    });
  }
}

/** Calls `then` when the page has been hidden for a while; returns a function that cancels this. */
function whenHidden(then: () => void): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const look = () => {
    clearTimeout(timer);
    if (document.visibilityState === 'hidden') timer = setTimeout(then, hiddenMs);
  };
  document.addEventListener('visibilitychange', look);
  return () => {
    clearTimeout(timer);
    document.removeEventListener('visibilitychange', look);
  };
}

let readBesides: () => void = () => undefined;
let waits = false;
let isAskedAgain = false;
/** Whether the events were cut off for a while: then everything is read again. */
let isCut = false;

// A response that was underway when the server reported a change may be older than the change.
queries.getQueryCache().subscribe((event) => {
  if (event.type === 'updated' && event.action.type === 'success' && isOld(event.query)) {
    readAgainSoon();
  }
});

/**
 * Reads responses again that are older than the news. Changes that come together are read together,
 * and the next reading waits four times as long as the last one took: so that long lists and slow
 * servers get pauses.
 */
function readAgainSoon(): void {
  if (waits) {
    isAskedAgain = true;
    return;
  }
  waits = true;
  setTimeout(() => void readAgain(), pauseMs);
}

async function readAgain(): Promise<void> {
  isAskedAgain = false;
  const began = performance.now();
  readBesides();
  const isAll = isCut;
  isCut = false;
  await queries.invalidateQueries(
    { predicate: (query) => isAll || isOld(query) },
    // A response that is underway is checked when it arrives.
    { cancelRefetch: isAll },
  );
  const took = performance.now() - began;
  await new Promise((resolve) => setTimeout(resolve, Math.min(4 * took, maxSilenceMs)));
  waits = false;
  if (isAskedAgain) readAgainSoon();
}
