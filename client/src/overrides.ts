// Custom DNS entries, which the earlier variant calls hostname overrides.

import { ExitwardError } from './errors.ts';
import type { NewOverride, Override, OverrideChanges } from './openapi.ts';
import type { CallOptions, ChangeOptions, CreateOptions, WaitOptions } from './options.ts';
import { commaSeparated, type Listing, listing } from './records.ts';
import { pause } from './retries.ts';
import type { Transport } from './transport.ts';

const secondsBetweenLooks = 1;

/** Custom DNS entries: `client.overrides`. They apply on the override port, 500 above the other. */
export class Overrides {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * Lists the entries, including expiring and expired ones; optionally only those that resolve to
   * an address, or are on these servers.
   *
   * @example
   * ```ts
   * const entries = await client.overrides.list({ server: ['fra1'] });
   * console.log(entries.filter(({ status }) => status === 'pending').length); // 1
   * ```
   */
  list(
    { ip, server }: { ip?: string; server?: readonly string[] } = {},
    options?: CallOptions,
  ): Listing<Override> {
    return listing(async () => {
      const query = { ip, server: commaSeparated('server', server) };
      return this.#transport.call('list_overrides', { query }, options);
    });
  }

  /** One entry. Errors: NotFoundError. */
  async get(id: number, options?: CallOptions): Promise<Override> {
    return this.#transport.call('get_override', { path: { id } }, options);
  }

  /**
   * Adds an entry, `pending` until the server's machines have applied it. With `waitSeconds` it is
   * `active` in the response, or still `pending` when the time is over; waiting never turns a
   * created entry into an error.
   * Errors: ConflictError when the hostname is overridden on the server already, or the server is
   * not on the contract.
   *
   * @example
   * ```ts
   * const expiry = Math.floor(Date.now() / 1000) + 3600;
   * const entry = await client.overrides.add(
   *   { server: 'ams1', hostname: 'www.example.com', ip: '203.0.113.7', expiry },
   *   { waitSeconds: 10 },
   * );
   * console.log(entry.status); // active
   * ```
   */
  async add(entry: NewOverride, options: CreateOptions & WaitOptions = {}): Promise<Override> {
    return this.#whenApplied(options, () =>
      this.#transport.call('create_override', { body: entry }, options),
    );
  }

  /**
   * Changes some of the fields; the entry is `pending` again. `waitSeconds` as for `add`.
   * Errors: NotFoundError, ConflictError.
   *
   * @example
   * ```ts
   * const changed = await client.overrides.change(1, { ip: '203.0.113.8' });
   * console.log(changed.ip, changed.status); // 203.0.113.8 pending
   * ```
   */
  async change(
    id: number,
    changes: OverrideChanges,
    options: ChangeOptions & WaitOptions = {},
  ): Promise<Override> {
    return this.#whenApplied(options, () =>
      this.#transport.call('change_override', { path: { id }, body: changes }, options),
    );
  }

  /** Removes an entry. Errors: NotFoundError. */
  async remove(id: number, options?: ChangeOptions): Promise<void> {
    await this.#transport.call('remove_override', { path: { id } }, options);
  }

  /** Removes **all** entries of the account. */
  async clear(options?: ChangeOptions): Promise<void> {
    await this.#transport.call('remove_all_overrides', {}, options);
  }

  /**
   * Reads the entry until it is no longer pending, or the time is over: a server may not support
   * `Prefer: wait`, and Exitward waits at most 30 seconds.
   */
  async #whenApplied(
    { waitSeconds = 0, ...options }: CallOptions & WaitOptions,
    change: () => Promise<Override>,
  ): Promise<Override> {
    const end = performance.now() + waitSeconds * 1000;
    let entry = await change();
    while (entry.status === 'pending' && performance.now() < end) {
      const seconds = Math.min(secondsBetweenLooks, (end - performance.now()) / 1000);
      await pause(seconds, options.signal);
      try {
        entry = await this.get(entry.id, options);
      } catch (error) {
        if (error instanceof ExitwardError) return entry;
        throw error;
      }
    }
    return entry;
  }
}
