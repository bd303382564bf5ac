// Fills a database with a network for measuring: accounts with authlist entries, quickly.

import { createAccount } from '../server/src/accounts/accounts.ts';
import type { Context } from '../server/src/context.ts';
import { setContractServer } from '../server/src/contract_servers/contract_servers.ts';
import type { Actor } from '../server/src/db/database.ts';
import { addExitIp, createServer, type Server } from '../server/src/servers/servers.ts';
import { createUser } from '../server/src/users/users.ts';
import { periodAt } from '../server/src/values/periods.ts';

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

/**
 * As many users more of the first account, and accounts more, each with usage of its running
 * period.
 */
export async function fillPeople(ctx: Context, people: number): Promise<void> {
  const now = ctx.clock.now();
  const rows = <R>(made: (id: number) => R) => Array.from({ length: people }, (_, at) => made(at));
  await ctx.db.write(bench, async (tx) => {
    await tx.insertMany(
      'users',
      rows((at) => ({
        ...{
          account_id: 1,
          id: at + 1000,
          name: `user${(at * 7919) % 1_000_003}`,
          display_name: `User ${at}`,
        },
        ...{ active: at % 7 ? 1 : 0, proxy: 1, billing: 0, admin: 0, token_version: 1 },
      })),
    );
    await tx.insertMany(
      'sign_ins',
      rows((at) => ({
        account_id: 1,
        user_id: at + 1000,
        last_sign_in_at: now - ((at * 31) % 9999),
      })),
    );
    const accounts = rows((at) => ({
      ...{
        id: at + 1000,
        name: `customer${(at * 7919) % 1_000_003}`,
        plan: 'Bench',
        created_at: now,
      },
      ...{ start: now - 1 - ((at * 37) % 4000) * 86_400, expiry: now + ((at * 13) % 900) * 86_400 },
      ...{ limit_bytes: 1e12, detailed_billing: 0, suspended: at % 97 ? 0 : 1, over_limit: 0 },
      ...{ over_until: 0, on_limit: 'refuse', port_scheme_id: 1, token_lifetime_seconds: 60 },
    }));
    await tx.insertMany('accounts', accounts);
    await tx.insertMany(
      'usage_periods',
      accounts.map(({ id, start }, at) => ({
        ...{ account_id: id, server_id: 1, bytes: ((at * 17) % 1000) * 1e6 },
        period_start: periodAt(start, now).start,
      })),
    );
  });
}
