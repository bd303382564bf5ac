// Large responses: each is held once however many read it, goes out in slices as it is read, and all together have a bound.
import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { Pace } from '../bounds/pace.ts';
import { unavailable } from '../errors.ts';

/** From this size on a body is a large one. */
export const largeBytes = 64 * 1024;
const sliceBytes = 64 * 1024;
/** A client that took nothing for so long gives way to others. */
const stalledMs = 1000;
/**
 * Of all responses together. The system often takes all that is written at once, and Node writes on before it looks
 * at anything else: many clients that read fast would have whole bodies written in one turn of the event loop.
 */
const slicesInATurn = 4;
const pace = new Pace(slicesInATurn);

/** When each of those that read a body was given a slice last; infinite while it waits for one. */
type Readers = Map<ServerResponse, number>;

export class LargeBodies {
  readonly #maxBytes: number;
  readonly #held = new Map<Buffer, Readers>();
  readonly #byTag = new Map<string, Buffer>();
  readonly #tags = new WeakMap<Buffer, string>();
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /**
   * The bytes of a response, those that are being read already where they are the same; `tag` names them.
   * Errors: 503 when those that are being read leave no room.
   */
  share(content: string | Buffer, tag: string): Buffer {
    const held = this.#byTag.get(tag);
    if (held) return held;
    const body = typeof content === 'string' ? Buffer.from(content) : content;
    if (!this.#hasRoom(body.length)) {
      throw unavailable('Too many large responses are being read; try again.', 1);
    }
    this.#tags.set(body, tag);
    return body;
  }

  /** The body in slices, each taken when the client has read those before it. */
  read(body: Buffer, response: ServerResponse): Readable {
    // Its `close` has been: nothing would let go of the body.
    if (response.destroyed) return Readable.from([]);
    const readers = this.#held.get(body) ?? this.#hold(body);
    readers.set(response, performance.now());
    const leave = () => this.#leave(body, readers, response);
    response.once('close', leave);
    let at = 0;
    const slices = new Readable({
      highWaterMark: 1,
      read: () => {
        if (response.destroyed) return;
        // Until its turn comes it is not the client that stalls.
        readers.set(response, Number.POSITIVE_INFINITY);
        // Turns go by body: one that many read holds up no reader of another.
        pace.run(this.#tags.get(body) ?? '', () => {
          if (slices.destroyed || response.destroyed) return;
          readers.set(response, performance.now());
          slices.push(at < body.length ? body.subarray(at, at + sliceBytes) : null);
          at += sliceBytes;
        });
      },
    });
    return slices;
  }

  #hold(body: Buffer): Readers {
    const readers: Readers = new Map();
    this.#held.set(body, readers);
    this.#bytes += body.length;
    const tag = this.#tags.get(body);
    if (tag !== undefined) this.#byTag.set(tag, body);
    return readers;
  }

  #leave(body: Buffer, readers: Readers, response: ServerResponse): void {
    readers.delete(response);
    if (readers.size > 0 || this.#held.get(body) !== readers) return;
    this.#held.delete(body);
    this.#bytes -= body.length;
    const tag = this.#tags.get(body);
    if (tag !== undefined && this.#byTag.get(tag) === body) this.#byTag.delete(tag);
  }

  /** Makes room by ending the responses that were stalled longest. One body alone may be larger than all may be. */
  #hasRoom(bytes: number): boolean {
    const latest = (readers: Readers) => Math.max(...readers.values());
    while (this.#held.size > 0 && this.#bytes + bytes > this.#maxBytes) {
      const [body, readers] = Array.from(this.#held).reduce((stalest, other) =>
        latest(other[1]) < latest(stalest[1]) ? other : stalest,
      );
      if (latest(readers) > performance.now() - stalledMs) return false;
      for (const response of Array.from(readers.keys())) {
        this.#leave(body, readers, response);
        response.destroy();
      }
    }
    return true;
  }
}
