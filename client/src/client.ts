// The client: an account's settings, and a noun for each part of the interface.

import { Authlist } from './authlist.ts';
import type { Index } from './openapi.ts';
import type { CallOptions } from './options.ts';
import { Overrides } from './overrides.ts';
import { AccountContract, Servers } from './servers.ts';
import { type ExitwardOptions, readSettings } from './settings.ts';
import { Transport } from './transport.ts';
import { Users } from './users.ts';

/**
 * An account of a service that speaks the Proxy Network Account Management API.
 *
 * Each call takes a `signal`, `timeoutSeconds` and `retries` last, and fails with an ExitwardError.
 * Temporary failures are tried again, after random, growing pauses, or when the server asks for it:
 * reading and removing always, creating with an `Idempotency-Key`, changing only when the server
 * cannot have acted on it. Errors of the constructor: OptionError.
 *
 * @example
 * ```ts
 * const account = new Exitward({
 *   baseUrl: 'https://api.example.com',
 *   token: process.env.EXITWARD_TOKEN ?? '',
 *   timeoutSeconds: 10,
 * });
 * const contract = await account.contract.get({ signal: AbortSignal.timeout(60_000) });
 * console.log(contract.name); // acme
 * ```
 */
export class Exitward {
  /** The servers of the network. */
  readonly servers: Servers;
  /** The contract, and the servers on it. */
  readonly contract: AccountContract;
  /** Users and proxy access tokens; in the current variant only. */
  readonly users: Users;
  /** The IP authlist; the whitelist of the earlier variant. */
  readonly authlist: Authlist;
  /** Custom DNS entries. */
  readonly overrides: Overrides;
  readonly #transport: Transport;

  constructor(options: ExitwardOptions) {
    const transport = new Transport(readSettings(options));
    this.#transport = transport;
    this.servers = new Servers(transport);
    this.contract = new AccountContract(transport);
    this.users = new Users(transport);
    this.authlist = new Authlist(transport);
    this.overrides = new Overrides(transport);
  }

  /**
   * The response at `/v0`: with Exitward the contract's name, the variant and the paths. Other
   * servers may respond with anything. To check a token with any server, use `contract.get`.
   */
  async index(options?: CallOptions): Promise<Index> {
    return this.#transport.call('get_index', {}, options);
  }
}
