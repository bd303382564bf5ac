// The users of the contract, and their proxy access tokens; in the current variant only.

import { ExitwardError } from './errors.ts';
import type { NewProxyToken, ProxyToken, User } from './openapi.ts';
import type { CallOptions, CreateOptions } from './options.ts';
import { type Listing, listing } from './records.ts';
import type { Transport } from './transport.ts';

/** Users: `client.users`. Errors, in the earlier variant, which has none: an ExitwardError. */
export class Users {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * Lists the active users, with their permissions.
   *
   * @example
   * ```ts
   * const users = await client.users.list();
   * console.log(users.filter(({ flags }) => flags.proxy).map(({ name }) => name)); // [ 'alice' ]
   * ```
   */
  list(options?: CallOptions): Listing<User> {
    return listing(async () => {
      this.#requireCurrent();
      return this.#transport.call('list_users', {}, options);
    });
  }

  /**
   * Creates a proxy access token: the user's password for the proxy. `expire` is its lifetime in
   * seconds; by default that of the contract, usually a year.
   * Errors: ConflictError for a user who is unknown, inactive, or without the proxy flag.
   *
   * @example
   * ```ts
   * const { token } = await client.users.createToken({ user: 'alice', expire: 3600 });
   * const server = await client.contract.servers.get('fra1');
   * process.env.HTTPS_PROXY = proxyUrl({ server, user: 'alice', token });
   * ```
   */
  async createToken(request: NewProxyToken, options?: CreateOptions): Promise<ProxyToken> {
    this.#requireCurrent();
    return this.#transport.call('create_proxy_token', { body: request }, options);
  }

  #requireCurrent(): void {
    if (this.#transport.variant === 'earlier') {
      throw new ExitwardError('users: the earlier variant has none; expected variant: current');
    }
  }
}
