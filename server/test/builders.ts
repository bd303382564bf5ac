// Builders: the records that tests start from, made with the domain's own verbs.
import { type Account, createAccount, type NewAccount } from '../src/accounts/accounts.ts';
import type { Context } from '../src/context.ts';
import { setContractServer } from '../src/contract_servers/contract_servers.ts';
import type { Transaction } from '../src/db/database.ts';
import { addExitIp, createServer, type NewServer, requireServer } from '../src/servers/servers.ts';
import { createUser, type Flags, type User } from '../src/users/users.ts';

/** A server and an account on it that no other test has. */
export interface Site {
  /** The number of the site, for addresses and ids of its own. */
  number: number;
  server: string;
  built: BuiltAccount;
}

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
  /** A new server with so many exit IPs, 198.18.NUMBER.1 and on, and a new account on it. */
  site(exits?: number): Promise<Site>;
  /** Writes active proxy users with these names past the verbs; their ids begin with `first_id`. */
  proxyUsers(of: BuiltAccount, first_id: number, names: string[]): Promise<void>;
}

export function builders(
  ctx: Context,
  write: <T>(action: (tx: Transaction) => Promise<T>) => Promise<T>,
): Builders {
  let exits = 0;
  let sites = 0;
  const made: Builders = {
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
    async site(exits = 1) {
      const number = ++sites;
      const server = `srv${number}`;
      const exit_ips = Array.from({ length: exits }, (_, at) => `198.18.${number}.${at + 1}`);
      await made.server(server, { exit_ips });
      return {
        number,
        server,
        built: await made.account(`account${number}`, { servers: [server] }),
      };
    },
    async proxyUsers({ account }, first_id, names) {
      const flags = { active: 1, proxy: 1, billing: 0, admin: 0, token_version: 1 };
      const rows = names.map((name, at) => ({
        ...{ account_id: account.id, id: first_id + at, name, display_name: '' },
        ...flags,
      }));
      await write(async (tx) => {
        for (let at = 0; at < rows.length; at += 1000)
          await tx.insertMany('users', rows.slice(at, at + 1000));
      });
    },
  };
  return made;
}
