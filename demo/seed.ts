// The demo network: real cities, made-up exit IPs, two accounts, users with every combination of flags, some usage.
import { readFileSync } from 'node:fs';
import { type Account, createAccount, pageOfAccounts } from '../server/src/accounts/accounts.ts';
import { createEntry } from '../server/src/authlist/authlist.ts';
import type { Context } from '../server/src/context.ts';
import {
  serversOfContract,
  setContractServer,
} from '../server/src/contract_servers/contract_servers.ts';
import type { Actor, Transaction } from '../server/src/db/database.ts';
import { setGeoStatuses } from '../server/src/geo/geo.ts';
import { createOverride } from '../server/src/overrides/overrides.ts';
import {
  addExitIp,
  createServer,
  listExitIps,
  listServers,
  type NewServer,
  recordHealth,
  requireServer,
} from '../server/src/servers/servers.ts';
import { recordUsage, type UsageBucket } from '../server/src/usage/usage.ts';
import {
  changeUser,
  createUser,
  type Flags,
  isProxyUser,
  listActiveUsers,
} from '../server/src/users/users.ts';

interface DemoServer extends NewServer {
  exit_ips: Array<{ ip: string; port_base: number }>;
}

export const demo: Actor = { kind: 'system', name: 'demo', address: '', request_id: '' };

const day = 86_400;
const inventory = new URL('network.json', import.meta.url);

/** Numbers that look random and are the same on every machine. */
function spread(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Fills an empty database with the demo network. Answers false when there is something in it already. */
export async function seedDemo(ctx: Context): Promise<boolean> {
  if ((await pageOfAccounts(ctx.db, '', 1)).length > 0) return false;
  if ((await listServers(ctx.db)).length > 0) return false;
  const servers = JSON.parse(readFileSync(inventory, 'utf8')) as DemoServer[];
  await ctx.db.write(demo, async (tx) => {
    for (const { exit_ips, ...server } of servers) {
      const row = await createServer(tx, server);
      for (const exit of exit_ips) await addExitIp(tx, row, exit);
    }
    const names = servers
      .filter(({ services }) => services.includes('proxy'))
      .map(({ name }) => name);
    const acme = await seedAccount(tx, ctx, 'acme', { detailed_billing: true }, names.slice(0, 12));
    const globex = await seedAccount(
      tx,
      ctx,
      'globex',
      { detailed_billing: false },
      names.slice(8, 16),
    );
    await seedUsage(tx, acme, 7);
    await seedUsage(tx, globex, 11);
    // Where the operator names databases, they speak.
    if (ctx.config.geoip.length === 0) await seedGeoStatus(tx);
  });
  await reportDemoHealth(ctx);
  return true;
}

async function seedAccount(
  tx: Transaction,
  ctx: Context,
  name: string,
  { detailed_billing }: { detailed_billing: boolean },
  servers: string[],
): Promise<Account> {
  const { account } = await createAccount(tx, ctx.secrets, ctx.config.api_tokens === 'viewable', {
    name,
    plan: detailed_billing ? 'Business' : 'Team',
    start: tx.now - 100 * day,
    expiry: tx.now + 265 * day,
    limit_bytes: 2_000_000_000_000,
    detailed_billing,
  });
  for (const [at, server] of servers.entries()) {
    const own_limit = detailed_billing && at % 2 === 0 ? 200_000_000_000 : null;
    await setContractServer(tx, account, await requireServer(tx, server), own_limit);
  }
  await seedUsers(tx, account);
  const expiry = tx.now + 30 * day;
  const rules = { ...ctx.config, addresses: 'any' as const };
  const ip = detailed_billing ? '203.0.113.200' : '203.0.113.201';
  await createEntry(tx, account.id, { ip, user: 'proxy', expiry }, rules);
  await createOverride(
    tx,
    account.id,
    { server: servers[0] as string, hostname: 'staging.example.com', ip: '203.0.113.10', expiry },
    rules,
  );
  return account;
}

/** One user for each combination of flags, named after it, and one who is inactive. */
async function seedUsers(tx: Transaction, account: Account): Promise<void> {
  for (let bits = 0; bits < 8; bits++) {
    const flags: Flags = { proxy: (bits & 1) > 0, billing: (bits & 2) > 0, admin: (bits & 4) > 0 };
    const set = Object.entries(flags)
      .filter(([, on]) => on)
      .map(([flag]) => flag);
    const name = set.join('-') || 'none';
    await createUser(tx, account, {
      name,
      display_name: `Demo ${set.join(' and ') || 'without flags'}`,
      flags,
    });
  }
  const former = await createUser(tx, account, {
    name: 'former',
    display_name: 'Demo former colleague',
    flags: { proxy: true },
  });
  await changeUser(tx, former, { active: false });
}

/** Thirty-five days of working-hour traffic. */
async function seedUsage(tx: Transaction, account: Account, seed: number): Promise<void> {
  const random = spread(seed);
  const servers = await serversOfContract(tx, account.id);
  const users = (await listActiveUsers(tx, account.id)).filter(isProxyUser);
  const buckets: UsageBucket[] = [];
  for (let hour = tx.now - 35 * day; hour < tx.now; hour += 3600) {
    const working =
      new Date(hour * 1000).getUTCHours() >= 7 && new Date(hour * 1000).getUTCHours() < 19;
    for (const { id: server_id } of servers) {
      if (random() > (working ? 0.5 : 0.08)) continue;
      const user = users[Math.floor(random() * users.length)];
      if (!user) continue;
      const down = Math.floor(random() * 60_000_000);
      buckets.push({
        account_id: account.id,
        server_id,
        user_id: user.id,
        hour,
        up: Math.floor(down * 0.08),
        down,
      });
    }
  }
  for (let at = 0; at < buckets.length; at += 2000) {
    await recordUsage(tx, buckets.slice(at, at + 2000), () => account.start);
  }
}

const providers = ['db-ip', 'geo-whois-asn', 'iptoasn'];

/** No database knows addresses that are kept for documentation: what the demo shows is made up. */
async function seedGeoStatus(tx: Transaction): Promise<void> {
  const random = spread(3);
  const countries = new Map((await listServers(tx)).map(({ id, country }) => [id, country]));
  const statuses = (await listExitIps(tx)).flatMap(({ ip, server_id }) =>
    providers.flatMap((provider) => {
      const draw = random();
      if (draw > 0.95) return [];
      const status = draw < 0.8 ? 'ok' : draw < 0.9 ? 'warn' : 'crit';
      const [least, most] = { ok: [0, 100], warn: [300, 900], crit: [500, 7000] }[status] as [
        number,
        number,
      ];
      const distance_km = Math.round(least + random() * (most - least));
      const own = countries.get(server_id) ?? null;
      const country = status !== 'crit' ? own : own === 'US' ? 'CA' : 'US';
      const status_time = tx.now - Math.floor(random() * day);
      return [{ ip, provider, status, status_time, country, distance_km }];
    }),
  );
  await setGeoStatuses(tx, statuses);
}

/**
 * Reports the health of the demo's exit IPs, as their nodes would: nearly all are well. The demo's
 * machines do not exist, so this is repeated while it runs; else every status would become `unknown`.
 */
export async function reportDemoHealth(ctx: Context): Promise<void> {
  const random = spread(5);
  const byServer = Map.groupBy(await listExitIps(ctx.db), (exit) => exit.server_id);
  await ctx.db.write(demo, async (tx) => {
    for (const [server_id, exits] of byServer) {
      const reports = exits.map(({ ip }) => {
        const draw = random();
        const status =
          draw < 0.9 ? ('ok' as const) : draw < 0.96 ? ('warn' as const) : ('crit' as const);
        return { ip, status, status_time: tx.now };
      });
      await recordHealth(tx, server_id, reports);
    }
  });
}
