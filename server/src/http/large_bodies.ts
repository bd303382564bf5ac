// Large responses: each is held once, sent in slices as it is read, and all together have a limit.
import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { Pace } from '../bounds/pace.ts';
import { unavailable } from '../errors.ts';

/** From this size on a body is large. */
export const largeBytes = 64 * 1024;
const sliceBytes = 64 * 1024;
/** A client that reads nothing for this long gives way to others. */
const stalledMs = 1000;
/**
 * For all responses together. The system often takes everything that is written at once, and Node
 * writes on before it does anything else: for many fast clients, one turn of the event loop would
 * write whole bodies.
 */
const slicesInATurn = 4;
const pace = new Pace(slicesInATurn);

/** When each reader of a body was last given a slice; infinite while it waits for one. */
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
   * The bytes of a response, shared with readers of the same bytes; `tag` names them. Errors: 503
   * when the bodies that are being read leave no room.
   */
  share(content: string | Buffer, tag: string): Buffer {
    const shared = this.#byTag.get(tag);
    if (shared) return shared;
    const body = typeof content === 'string' ? Buffer.from(content) : content;
    if (!this.#hasRoom(body.length)) {
      throw unavailable('Too many large responses are being read; try again.', 1);
    }
    this.#tags.set(body, tag);
    return body;
  }

  /** The body in slices, each sent when the client has read the previous ones. */
  read(body: Buffer, response: ServerResponse): Readable {
    // It has emitted `close` already: the body would never be released.
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
        // Until its turn comes, it is not the client that stalls.
        readers.set(response, Number.POSITIVE_INFINITY);
        // Turns go by body: one with many readers doesn't delay the readers of another.
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

  /** Makes room by ending the responses that stalled longest. One body may exceed the limit. */
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
