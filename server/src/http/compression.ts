// Compression of responses: which ones, in which encoding, how many at a time, each body once.
import type { IncomingHttpHeaders } from 'node:http';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { Turns, type Waiter } from '../db/turns.ts';
import { largeBytes } from './large_bodies.ts';

export type Encoding = 'br' | 'gzip';

/** A smaller response is sent as it is: it is one packet either way. */
export const leastCompressedBytes = 1000;
/** For all bodies that wait to be compressed. Beyond it, bodies are sent as they are. */
const maxWaitingBytes = 64 * 1024 * 1024;

/** From this size on, saving a hundredth of the bytes isn't worth four times the work. */
const quickBytes = 1024 * 1024;

const brotli = promisify(brotliCompress);
const deflate = promisify(gzip);
const ways: Record<Encoding, (body: Buffer) => Promise<Buffer>> = {
  br: (body) =>
    brotli(body, {
      chunkSize: largeBytes,
      params: {
        [constants.BROTLI_PARAM_QUALITY]: body.length < quickBytes ? 4 : 1,
        [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT,
        [constants.BROTLI_PARAM_SIZE_HINT]: body.length,
      },
    }),
  gzip: (body) => deflate(body, { chunkSize: largeBytes, level: body.length < quickBytes ? 5 : 1 }),
};

/** The encoding that a client prefers; undefined if it accepts none of ours. */
export function preferredEncoding({ 'accept-encoding': accepted }: IncomingHttpHeaders) {
  if (accepted === undefined) return undefined;
  const weights = new Map<string, number>();
  for (const word of String(accepted).toLowerCase().split(',')) {
    const [name = '', ...rest] = word.split(';').map((part) => part.trim());
    const weight = rest.find((part) => part.startsWith('q='));
    weights.set(name, weight === undefined ? 1 : Number(weight.slice(2)) || 0);
  }
  const any = weights.get('*') ?? 0;
  const br = weights.get('br') ?? any;
  const gzip = weights.get('gzip') ?? any;
  if (br === 0 && gzip === 0) return undefined;
  return br >= gzip ? 'br' : 'gzip';
}

interface Job extends Waiter {
  run: () => Promise<void>;
}

/** Runs a limited number of jobs at a time, taking turns between clients. */
class Lane {
  readonly #waiting = new Turns<Job>();
  readonly #maxRunning: number;
  #running = 0;

  constructor(maxRunning: number) {
    this.#maxRunning = maxRunning;
  }

  add(job: Job): void {
    this.#waiting.push(job);
    void this.#next();
  }

  async #next(): Promise<void> {
    if (this.#running >= this.#maxRunning) return;
    const job = this.#waiting.take();
    if (!job) return;
    this.#running += 1;
    await job.run();
    this.#running -= 1;
    void this.#next();
  }
}

/**
 * Of the four threads in Node's pool, large bodies take one and small ones two; the disk keeps one.
 * Large bodies wait only for large ones.
 */
const lanes = { large: new Lane(1), small: new Lane(2) };
const copiesOf = new WeakMap<Buffer, Map<Encoding, Promise<Buffer>>>();
let waitingBytes = 0;

/**
 * Compresses the body, once for as long as these very bytes are kept. `client` takes turns with
 * others. Answers undefined when too much is waiting, or if the result would not be smaller.
 */
export async function compressed(
  body: Buffer,
  encoding: Encoding,
  client: string,
): Promise<Buffer | undefined> {
  const copies = copiesOf.get(body) ?? new Map<Encoding, Promise<Buffer>>();
  let making = copies.get(encoding);
  if (!making) {
    if (waitingBytes > 0 && waitingBytes + body.length > maxWaitingBytes) return undefined;
    making = inLane(body, encoding, client);
    copiesOf.set(body, copies.set(encoding, making));
    making.catch(() => copies.delete(encoding));
  }
  const encoded = await making;
  return encoded.length < body.length ? encoded : undefined;
}

function inLane(body: Buffer, encoding: Encoding, client: string): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const bytes = body.length;
  waitingBytes += bytes;
  const run = () =>
    ways[encoding](body)
      .then(resolve, reject)
      .finally(() => {
        waitingBytes -= bytes;
      });
  lanes[bytes < largeBytes ? 'small' : 'large'].add({ key: client, run });
  return promise;
}
