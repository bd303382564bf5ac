// The servers of the network, the contract, and the servers on it: read only.

import type { Contract, ContractServer, NetworkServer } from './openapi.ts';
import type { CallOptions } from './options.ts';
import { commaSeparated, type Listing, listing } from './records.ts';
import type { Transport } from './transport.ts';

/** The parts of the record of a server on the contract that are sent only on request. */
export type Detail = 'location' | 'geostatus' | 'usage';

/** Every server of the network, on the contract or not: `client.servers`. */
export class Servers {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * Lists them, with `location` on request.
   *
   * @example
   * ```ts
   * for await (const server of client.servers.list({ detail: ['location'] })) {
   *   console.log(server.hostname, server.location?.city); // ams1.exitward.example Amsterdam
   *   break;
   * }
   * ```
   */
  list(
    { detail }: { detail?: readonly 'location'[] } = {},
    options?: CallOptions,
  ): Listing<NetworkServer> {
    return listing(async () => {
      const query = { detail: commaSeparated('detail', detail) };
      return this.#transport.call('list_servers', { query }, options);
    });
  }
}

/** The servers on the contract, with their exit IPs: `client.contract.servers`. */
export class ContractServers {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * Lists them, or only those with these names, with the requested details.
   *
   * @example
   * ```ts
   * const [server] = await client.contract.servers.list({ server: ['fra1'], detail: ['usage'] });
   * console.log(server?.usage?.current, server?.ips[0]?.status); // 0 unknown
   * ```
   */
  list(
    { server, detail }: { server?: readonly string[]; detail?: readonly Detail[] } = {},
    options?: CallOptions,
  ): Listing<ContractServer> {
    return listing(async () => {
      const query = {
        server: commaSeparated('server', server),
        detail: commaSeparated('detail', detail),
      };
      return this.#transport.call('list_contract_servers', { query }, options);
    });
  }

  /** One of them. Errors: ForbiddenError when it is not on the contract; NotFoundError. */
  async get(
    server: string,
    { detail }: { detail?: readonly Detail[] } = {},
    options?: CallOptions,
  ): Promise<ContractServer> {
    const query = { detail: commaSeparated('detail', detail) };
    return this.#transport.call('get_contract_server', { path: { server }, query }, options);
  }
}

/** The contract: `client.contract`. */
export class AccountContract {
  readonly servers: ContractServers;
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
    this.servers = new ContractServers(transport);
  }

  /**
   * The contract, with the network-wide usage of the current period.
   *
   * @example
   * ```ts
   * const { name, plan, period } = await client.contract.get();
   * console.log(name, plan, period.usage <= period.limit); // acme Team true
   * ```
   */
  async get(options?: CallOptions): Promise<Contract> {
    return this.#transport.call('get_contract', {}, options);
  }
}
