// Simulated time: what is to happen, one thing after another, each until nothing more comes of it.
import { createHash } from 'node:crypto';
import type { Clock } from '../../agent/src/clock.ts';

/** The owner of a step: it may crash in the midst of it. */
export interface Owner {
  readonly name: string;
}

export interface Happening {
  /** Simulated seconds. */
  at: number;
  /** Of those at the same time the first that was planned comes first. */
  order: number;
  run: () => void;
  owner: Owner | undefined;
  /** It may come together with the next: the control plane does several things at a time. */
  isShared: boolean;
  isCancelled: boolean;
}

export class Scheduler {
  /** Epoch seconds, with fractions. */
  time = 1_800_000_000;
  /** A fault that came up where no client could have caught it. */
  fault: Error | undefined;
  #planned = 0;
  /** A heap: the next is the first. */
  readonly #heap: Happening[] = [];

  /** Plans something; answers what calls it off. */
  after(seconds: number, run: () => void, owner?: Owner, isShared = false): () => void {
    this.#planned += 1;
    const happening = {
      at: this.time + seconds,
      order: this.#planned,
      run,
      owner,
      isShared,
      isCancelled: false,
    };
    this.#push(happening);
    return () => {
      happening.isCancelled = true;
    };
  }

  /** Takes the next thing, and moves the time to it. */
  next(): Happening {
    for (;;) {
      const happening = this.#pop();
      if (!happening) throw new Error('nothing is planned any more');
      if (happening.isCancelled) continue;
      this.time = Math.max(this.time, happening.at);
      return happening;
    }
  }

  /** Whether the next thing may come together with the one before. */
  get isNextShared(): boolean {
    return this.#heap[0]?.isShared === true;
  }

  now(): number {
    return Math.floor(this.time);
  }

  /** The clock of one process: when that is dead, nothing wakes it any more. */
  clockOf(owner: Owner, isAlive: () => boolean): Clock {
    return {
      now: () => this.now(),
      steady: () => this.time,
      sleep: (seconds, signal) =>
        new Promise((resolve) => {
          if (signal?.aborted) return resolve();
          const wake = () => {
            cancel();
            signal?.removeEventListener('abort', wake);
            if (isAlive()) resolve();
          };
          const cancel = this.after(seconds, wake, owner);
          signal?.addEventListener('abort', wake);
        }),
    };
  }

  #push(happening: Happening): void {
    const heap = this.#heap;
    let at = heap.push(happening) - 1;
    while (at > 0) {
      const above = (at - 1) >> 1;
      if (!isBefore(happening, heap[above] as Happening)) break;
      heap[at] = heap[above] as Happening;
      at = above;
    }
    heap[at] = happening;
  }

  #pop(): Happening | undefined {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (!first || !last || heap.length === 0) return first;
    let at = 0;
    for (;;) {
      let below = 2 * at + 1;
      if (below >= heap.length) break;
      const [first, right] = [heap[below], heap[below + 1]];
      if (right && isBefore(right, first as Happening)) below += 1;
      if (!isBefore(heap[below] as Happening, last)) break;
      heap[at] = heap[below] as Happening;
      at = below;
    }
    heap[at] = last;
    return first;
  }
}

function isBefore(a: Happening, b: Happening): boolean {
  return a.at === b.at ? a.order < b.order : a.at < b.at;
}

const files = new Set(['FSReqPromise', 'FSReqCallback', 'CloseReq']);
let inRealTime = 0;

/** Has simulated time wait for work that waits for real time: its timers look like others. */
export function ofRealTime<T>(work: Promise<T>): Promise<T> {
  inRealTime += 1;
  return work.finally(() => {
    inRealTime -= 1;
  });
}

/**
 * Resolves when nothing runs that was not left to simulated time: no file is being read or written,
 * and no callback is due. So it does not matter in which order the system answers.
 */
export async function settled(): Promise<void> {
  for (;;) {
    await new Promise((resolve) => setImmediate(resolve));
    const active = process.getActiveResourcesInfo();
    if (active.includes('Immediate')) continue;
    if (inRealTime === 0 && !active.some((resource) => files.has(resource))) return;
    // Without a reference it does not keep the loop turning: the thread sleeps until the system
    // answers.
    await new Promise((resolve) => setImmediate(resolve).unref());
  }
}

const lastLines = 300;

/** The history as lines; the same seed must give the same ones. */
export class Trace {
  readonly #scheduler: Scheduler;
  readonly #hash = createHash('sha256');
  readonly #last: string[] = [];
  /** How often what happened. */
  readonly counts = new Map<string, number>();

  constructor(scheduler: Scheduler) {
    this.#scheduler = scheduler;
  }

  note(what: string, details = ''): void {
    const line = `${(this.#scheduler.time % 100_000).toFixed(3)} ${what} ${details}`;
    this.#hash.update(line);
    this.#last.push(line);
    if (this.#last.length > 2 * lastLines) this.#last.splice(0, lastLines);
    this.count(what);
  }

  count(what: string): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + 1);
  }

  digest(): string {
    return this.#hash.copy().digest('hex');
  }

  toString(): string {
    return this.#last.slice(-lastLines).join('\n');
  }
}
