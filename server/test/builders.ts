// Builders: the records that tests start from, made with the domain's own verbs.
import { type Account, createAccount, type NewAccount } from '../src/accounts/accounts.ts';
import type { Context } from '../src/context.ts';
import { setContractServer } from '../src/contract_servers/contract_servers.ts';
import type { Transaction } from '../src/db/database.ts';
import { addExitIp, createServer, type NewServer, requireServer } from '../src/servers/servers.ts';
import { createUser, type Flags, type User } from '../src/users/users.ts';

export interface BuiltAccount {
  account: Account;
  api_token: string;
}

export interface Builders {
  /** A server with exit IPs at port bases 1, 2, …; `fra1` when nothing is said. */
  server(name?: string, more?: Partial<NewServer> & { exit_ips?: string[] }): Promise<NewServer>;
  /** An account with the servers added to its contract and an active proxy user `alice`. */
  account(
    name?: string,
    more?: Partial<NewAccount> & { servers?: string[] },
  ): Promise<BuiltAccount>;
  user(of: BuiltAccount, name: string, flags?: Partial<Flags>): Promise<User>;
}

export function builders(
  ctx: Context,
  write: <T>(action: (tx: Transaction) => Promise<T>) => Promise<T>,
): Builders {
  let exits = 0;
  return {
    async server(name = 'fra1', { exit_ips, ...more } = {}) {
      const server: NewServer = {
        name,
        hostname: `${name}.exitward.example`,
        title: `Metro of ${name}`,
        city: 'Frankfurt',
        country: 'DE',
        latitude: 50.1155,
        longitude: 8.6842,
        services: ['proxy', 'proxy-https', 'vpn-ikev2'],
        ...more,
      };
      await write(async (tx) => {
        const row = await createServer(tx, server);
        const ips = exit_ips ?? [`198.51.100.${++exits}`];
        for (const [at, ip] of ips.entries()) await addExitIp(tx, row, { ip, port_base: at + 1 });
      });
      return server;
    },
    async account(name = 'acme', { servers = [], ...more } = {}) {
      return write(async (tx) => {
        const built = await createAccount(tx, ctx.secrets, true, {
          name,
          plan: 'Team',
          start: ctx.clock.now() - 10 * 86_400,
          expiry: ctx.clock.now() + 300 * 86_400,
          limit_bytes: 1_000_000_000_000,
          ...more,
        });
        for (const server of servers) {
          await setContractServer(tx, built.account, await requireServer(tx, server), null);
        }
        await createUser(tx, built.account, {
          name: 'alice',
          display_name: 'Alice',
          flags: { proxy: true, billing: true, admin: true },
        });
        return built;
      });
    },
    user: (of, name, flags = {}) => write((tx) => createUser(tx, of.account, { name, flags })),
  };
}
