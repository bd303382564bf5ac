// Notices every commit in the network: one connection that listens, and reconnects when it was lost
// or the primary changed.
import type pg from 'pg';
import { type ConnectionSettings, newClient } from './postgres_connection.ts';
import type { Primary } from './postgres_primary.ts';
import { channel } from './postgres_writer.ts';

const retryMs = 1000;
/**
 * A connection on which nothing is sent never notices that the other end is gone, so it is probed.
 */
const heartbeatMs = 5000;

export class PostgresListener {
  readonly #settings: ConnectionSettings;
  readonly #primary: Primary;
  readonly #connected: (reached: string) => Promise<unknown>;
  readonly #notify: () => void;
  #client: pg.Client | undefined;
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;

  /**
   * `notify` is called for each commit, and when commits may have been missed; `connected` is
   * called with the server that is listened to, repeatedly until it succeeds.
   */
  constructor(
    settings: ConnectionSettings,
    primary: Primary,
    connected: (reached: string) => Promise<unknown>,
    notify: () => void,
  ) {
    this.#settings = settings;
    this.#primary = primary;
    this.#connected = connected;
    this.#notify = notify;
    void this.#connect();
  }

  stop(): void {
    this.#stopped = true;
    this.#giveUp();
  }

  async #connect(): Promise<void> {
    if (this.#stopped) return;
    const client = newClient(this.#settings);
    this.#client = client;
    const lost = () => {
      this.#primary.off('moved', lost);
      if (this.#client !== client) return;
      this.#giveUp();
      this.#later(retryMs, () => this.#connect());
    };
    client.on('error', lost);
    client.on('end', lost);
    client.on('notification', this.#notify);
    try {
      await client.connect();
      const reached = await this.#primary.admit(client);
      this.#primary.on('moved', lost);
      await client.query(`listen ${channel}`);
      if (this.#stopped) return;
      await this.#connected(reached);
      this.#notify();
      this.#beat(client, lost);
    } catch {
      lost();
    }
  }

  #beat(client: pg.Client, lost: () => void): void {
    if (this.#client !== client) return;
    this.#later(heartbeatMs, () =>
      client.query('select 1').then(() => this.#beat(client, lost), lost),
    );
  }

  #later(milliseconds: number, action: () => Promise<void>): void {
    if (this.#stopped) return;
    this.#timer = setTimeout(action, milliseconds);
    this.#timer.unref();
  }

  #giveUp(): void {
    const client = this.#client;
    this.#client = undefined;
    clearTimeout(this.#timer);
    client?.end().catch(() => {});
  }
}
