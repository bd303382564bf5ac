// Fills a database with a network for measuring: accounts with authlist entries, quickly.
import { createAccount } from '../server/src/accounts/accounts.ts';
import type { Context } from '../server/src/context.ts';
import { setContractServer } from '../server/src/contract_servers/contract_servers.ts';
import type { Actor } from '../server/src/db/database.ts';
import { addExitIp, createServer, type Server } from '../server/src/servers/servers.ts';
import { createUser } from '../server/src/users/users.ts';

export const bench: Actor = { kind: 'system', name: 'bench', address: '', request_id: '' };
const batch = 5000;

export interface Size {
  accounts: number;
  /** Authlist entries in all. */
  entries: number;
  /** `fra1` with the exit IP, `fra2` …; every account is on all of them. */
  servers: number;
}

/** Makes such a network; answers the accounts' API tokens, in order. */
export async function fillNetwork(
  ctx: Context,
  { accounts, entries, servers }: Size,
  exit_ip: string,
): Promise<string[]> {
  const now = ctx.clock.now();
  const expiry = now + 300 * 86_400;
  const all = await ctx.db.write(bench, async (tx) => {
    const made: Server[] = [];
    for (let at = 1; at <= servers; at++) {
      const server = await createServer(tx, {
        name: `fra${at}`,
        hostname: `fra${at}.bench.example`,
        title: 'Frankfurt',
        city: 'Frankfurt',
        country: 'DE',
        latitude: 50.11,
        longitude: 8.68,
        services: ['proxy'],
      });
      if (at === 1) await addExitIp(tx, server, { ip: exit_ip, port_base: 1 });
      made.push(server);
    }
    return made;
  });
  const tokens: string[] = [];
  const ids: number[] = [];
  for (let from = 0; from < accounts; from += 200) {
    await ctx.db.write(bench, async (tx) => {
      for (let at = from; at < Math.min(from + 200, accounts); at++) {
        const { account, api_token } = await createAccount(tx, ctx.secrets, true, {
          name: `bench-${at}`,
          plan: 'Bench',
          expiry,
          limit_bytes: Number(process.env.BENCH_LIMIT_BYTES ?? 1e12),
        });
        await createUser(tx, account, { name: 'alice', flags: { proxy: true } });
        for (const server of all) await setContractServer(tx, account, server, null);
        tokens.push(api_token);
        ids.push(account.id);
      }
    });
  }
  const perAccount = Math.floor(entries / accounts);
  for (let from = 0; from < entries; from += batch) {
    await ctx.db.write(bench, async (tx) => {
      const rows = [];
      for (let at = from; at < Math.min(from + batch, perAccount * accounts); at++) {
        rows.push({
          account_id: ids[Math.floor(at / perAccount)] as number,
          id: (at % perAccount) + 1,
          port_scheme_id: 1,
          ip: `10.${at >> 16}.${(at >> 8) & 255}.${at & 255}`,
          user_id: 1,
          expiry: expiry + (at % 1000),
        });
      }
      await tx.insertMany('authlist', rows);
    });
  }
  await ctx.db.write(bench, async (tx) => {
    await tx.insertMany(
      'counters',
      ids.flatMap((account_id) => [
        { account_id, list: 'authlist', last: perAccount },
        { account_id, list: 'authlist held', last: perAccount },
      ]),
    );
  });
  return tokens;
}
