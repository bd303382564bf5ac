// The IP authlist, which the earlier variant calls the whitelist: addresses that need no password.

import type { AuthlistEntry, AuthlistEntryChanges, NewAuthlistEntry } from './openapi.ts';
import type { CallOptions, ChangeOptions, CreateOptions, WaitOptions } from './options.ts';
import { commaSeparated, type Listing, listing } from './records.ts';
import type { Transport } from './transport.ts';

/** The names of the same fields in the two variants. */
const names = {
  current: {
    list: 'list_authlist_entries',
    get: 'get_authlist_entry',
    add: 'create_authlist_entry',
    change: 'change_authlist_entry',
    remove: 'remove_authlist_entry',
    clear: 'remove_all_authlist_entries',
  },
  earlier: {
    list: 'list_whitelist_entries',
    get: 'get_whitelist_entry',
    add: 'create_whitelist_entry',
    change: 'change_whitelist_entry',
    remove: 'remove_whitelist_entry',
    clear: 'remove_all_whitelist_entries',
  },
} as const;

/** The IP authlist: `client.authlist`. Connections from these addresses don't need a password. */
export class Authlist {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  get #names() {
    return names[this.#transport.variant];
  }

  /**
   * Lists the entries, optionally only those of an address (or a part of one), or of these users.
   *
   * @example
   * ```ts
   * const expiry = Math.floor(Date.now() / 1000) + 3600;
   * await client.authlist.add({ ip: '203.0.113.7', user: 'alice', expiry });
   * for await (const entry of client.authlist.list({ user: ['alice'] })) {
   *   console.log(entry.ip, entry.user_active); // 203.0.113.7 true
   * }
   * const all = await client.authlist.list();
   * console.log(all.length); // 1
   * ```
   */
  list(
    { ip, user }: { ip?: string; user?: readonly string[] } = {},
    options?: CallOptions,
  ): Listing<AuthlistEntry> {
    return listing(async () => {
      const query = { ip, user: commaSeparated('user', user) };
      return this.#transport.call(this.#names.list, { query }, options);
    });
  }

  /** One entry. Errors: NotFoundError. */
  async get(id: number, options?: CallOptions): Promise<AuthlistEntry> {
    return this.#transport.call(this.#names.get, { path: { id } }, options);
  }

  /**
   * Adds an address, by default the one that the call comes from, until `expiry` (epoch seconds).
   * Errors: ConflictError when the address is listed already, or the user is not on the account.
   *
   * @example
   * ```ts
   * const expiry = Math.floor(Date.now() / 1000) + 8 * 3600;
   * const entry = await client.authlist.add({ user: 'alice', expiry });
   * console.log(entry.ip); // 127.0.0.1
   * ```
   */
  async add(
    entry: NewAuthlistEntry,
    options?: CreateOptions & WaitOptions,
  ): Promise<AuthlistEntry> {
    return this.#transport.call(this.#names.add, { body: entry }, options);
  }

  /**
   * Changes some of the fields, and resolves to the whole entry.
   * Errors: NotFoundError, ConflictError.
   *
   * @example
   * ```ts
   * const expiry = Math.floor(Date.now() / 1000) + 3600;
   * const { id } = await client.authlist.add({ ip: '203.0.113.7', user: 'alice', expiry });
   * const later = await client.authlist.change(id, { expiry: expiry + 3600 });
   * console.log(later.expiry - expiry); // 3600
   * ```
   */
  async change(
    id: number,
    changes: AuthlistEntryChanges,
    options?: ChangeOptions & WaitOptions,
  ): Promise<AuthlistEntry> {
    return this.#transport.call(this.#names.change, { path: { id }, body: changes }, options);
  }

  /** Removes an entry. Errors: NotFoundError. */
  async remove(id: number, options?: ChangeOptions): Promise<void> {
    await this.#transport.call(this.#names.remove, { path: { id } }, options);
  }

  /** Removes **all** entries of the account. */
  async clear(options?: ChangeOptions): Promise<void> {
    await this.#transport.call(this.#names.clear, {}, options);
  }
}
