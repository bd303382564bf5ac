// Snapshots: everything that a server needs, at one moment. A few run at a time, and one that is
// not read is cancelled.

import { PassThrough } from 'node:stream';
import { Pace } from '../bounds/pace.ts';
import { networkPosition } from '../changes/changes.ts';
import type { Context } from '../context.ts';
import { accountsOfServer } from '../contract_servers/contract_servers.ts';
import { unavailable } from '../errors.ts';
import { publicKeys } from '../keys/signing_keys.ts';
import { maxStalledSeconds, untilRead } from './backpressure.ts';
import type { Node } from './nodes.ts';
import { accountRecords, keysRecord, serverRecord } from './records.ts';

/** How many records all snapshots together write in a turn of the event loop. */
const recordsInATurn = 250;
const pace = new Pace(1);

export class Snapshots {
  readonly #ctx: Context;
  readonly #maxRunning: number;
  readonly #stalledSeconds: number;
  /** By node. */
  readonly #running = new Set<number>();

  /** At most `maxRunning` at once; one that is not read for `stalled_seconds` is cancelled. */
  constructor(ctx: Context, { maxRunning = 8, stalled_seconds = maxStalledSeconds } = {}) {
    this.#ctx = ctx;
    this.#maxRunning = maxRunning;
    this.#stalledSeconds = stalled_seconds;
  }

  /**
   * A snapshot's lines. Errors: 503 while this node takes another one, so that it does not block
   * other nodes, and while the maximum number is running.
   */
  open({ id, server_id }: Pick<Node, 'id' | 'server_id'>): PassThrough {
    if (this.#running.has(id) || this.#running.size >= this.#maxRunning) {
      throw unavailable('Too many snapshots are under way; try again in a few seconds.');
    }
    const lines = new PassThrough();
    // An error may occur before the sender listens for it.
    lines.on('error', () => {});
    this.#running.add(id);
    void this.#write(server_id, lines)
      .catch((error) => lines.destroy(error))
      .finally(() => this.#running.delete(id));
    return lines;
  }

  /**
   * One record per line, never faster than it is read: an open snapshot keeps the database's log
   * from being folded.
   */
  async #write(server_id: number, lines: PassThrough): Promise<void> {
    await this.#ctx.db.snapshot(async (db) => {
      let records = 0;
      const write = async (line: unknown) => {
        records += 1;
        if (records % recordsInATurn === 0) await pace.take(String(server_id));
        if (!lines.write(`${JSON.stringify(line)}\n`)) {
          await untilRead(lines, this.#stalledSeconds);
        }
        if (lines.destroyed) throw new Error('The node went away during its snapshot.');
      };
      const { epoch, revision } = await networkPosition(db);
      await write({ kind: 'snapshot', epoch, revision });
      await write(await serverRecord(db, server_id, this.#ctx.secrets));
      await write(keysRecord(await publicKeys(db)));
      for (const { account_id } of await accountsOfServer(db, server_id)) {
        for await (const record of accountRecords(db, account_id, server_id)) await write(record);
      }
      await write({ kind: 'end', records: records - 1 });
    });
    lines.end();
  }
}
