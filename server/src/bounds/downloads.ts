// Downloads without a token: a few at a time, shared between networks, each at a least rate.
import type { ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import { Places } from '../../../kit/src/client_networks.ts';
import { ownedByConnection } from '../../../kit/src/owner.ts';
import { unavailable } from '../errors.ts';

const maxDownloads = 32;
/** Of all connections. */
const maxShare = 1 / 8;
const maxPerNetwork = 4;
const minBytesPerSecond = 16 * 1024;
const usualLookMs = 10_000;

export class Downloads {
  readonly #places: Places<ServerResponse>;
  readonly #log: Logger;
  readonly #lookMs: number;

  /** `max_connections`: of the server; some of them may be downloads. */
  constructor(max_connections: number, log: Logger, lookMs = usualLookMs) {
    const max = Math.max(1, Math.min(maxDownloads, Math.floor(max_connections * maxShare)));
    this.#places = new Places(max, maxPerNetwork);
    this.#log = log;
    this.#lookMs = lookMs;
  }

  /**
   * Gives the response a place until it closes; it is ended when its client reads too slowly, or
   * when others need the place of a network that has most.
   * Errors: 503 while the client's network has its share.
   */
  begin(response: ServerResponse, address: string): void {
    if (!this.#places.take(response, address)) {
      throw unavailable('This network has several downloads running; try again.', 10);
    }
    const own = ownedByConnection(this.#log, response);
    const minBytes = (minBytesPerSecond * this.#lookMs) / 1000;
    let before = deliveredBytes(response);
    const look = setInterval(
      own(() => {
        const delivered = deliveredBytes(response);
        if (delivered - before < minBytes) response.destroy();
        before = delivered;
      }),
      this.#lookMs,
    );
    look.unref();
    response.once(
      'close',
      own(() => {
        clearInterval(look);
        this.#places.leave(response);
      }),
    );
  }
}

const deliveredBytes = ({ socket }: ServerResponse) =>
  socket ? socket.bytesWritten - socket.writableLength : 0;
