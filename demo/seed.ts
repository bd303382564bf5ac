// The demo network: real cities, made-up exit IPs, two accounts, users with every combination of
// flags, some usage, and some limits.
import { type Account, createAccount, pageOfAccounts } from '../server/src/accounts/accounts.ts';
import { createEntry } from '../server/src/authlist/authlist.ts';
import type { Context } from '../server/src/context.ts';
import { setContractServer } from '../server/src/contract_servers/contract_servers.ts';
import type { Actor, Transaction } from '../server/src/db/database.ts';
import { setGeoStatuses } from '../server/src/geo/geo.ts';
import { createOverride } from '../server/src/overrides/overrides.ts';
import {
  addExitIp,
  createServer,
  listExitIps,
  listServers,
  recordHealth,
  requireServer,
} from '../server/src/servers/servers.ts';
import { recordUsage, type UsageBucket } from '../server/src/usage/usage.ts';
import {
  changeUser,
  createUser,
  type Flags,
  isProxyUser,
  type LimitChanges,
  listActiveUsers,
  periodOfUsers,
  type User,
} from '../server/src/users/users.ts';
import { seedHistory } from './history.ts';
import { type DemoServer, otherServers } from './inventory.ts';
import { draws, rateAt, upShare } from './life.ts';

export const demo: Actor = { kind: 'system', name: 'demo', address: '', request_id: '' };

const day = 86_400;

/**
 * Fills an empty database with the demo network. Answers false when there is something in it
 * already.
 */
export async function seedDemo(ctx: Context): Promise<boolean> {
  if ((await pageOfAccounts(ctx.db, '', 1)).length > 0) return false;
  if ((await listServers(ctx.db)).length > 0) return false;
  const servers = otherServers();
  await ctx.db.write(demo, async (tx) => {
    for (const { exit_ips, ...server } of servers) {
      const row = await createServer(tx, server);
      for (const exit of exit_ips) await addExitIp(tx, row, exit);
    }
    const isProxy = ({ services }: DemoServer) => services.includes('proxy');
    const isInExamples = ({ name }: DemoServer) => name === 'fra1';
    const ofAcme = [...servers.filter(isProxy).slice(0, 11), ...servers.filter(isInExamples)];
    // All the others, and some of the same.
    const ofGlobex = servers.filter((server) => !ofAcme.slice(0, 8).includes(server));
    const acme = await seedAccount(tx, ctx, acmeTerms, ofAcme);
    const globex = await seedAccount(tx, ctx, globexTerms, ofGlobex);
    const usage = [
      ...(await seedUsage(tx, acme, ofAcme, 0.3)),
      ...(await seedUsage(tx, globex, ofGlobex, 0.08)),
    ];
    for (const account of [acme, globex]) await seedLimits(tx, account);
    await seedHistory(tx, usage);
    // Where the operator names databases, they speak.
    if (ctx.config.geoip.length === 0) await seedGeoStatus(tx);
  });
  await seedHealth(ctx);
  return true;
}

interface Terms {
  name: string;
  plan: string;
  detailed_billing: boolean;
  limit_bytes: number;
  /** Of a customer's own, on the authlist. */
  ip: string;
}

/** The traffic of their servers in a month stays below the limits (life.ts). */
const acmeTerms: Terms = {
  ...{ name: 'acme', plan: 'Business', detailed_billing: true },
  ...{ limit_bytes: 2_000_000_000_000, ip: '203.0.113.200' },
};
const globexTerms: Terms = {
  ...{ name: 'globex', plan: 'Team', detailed_billing: false },
  ...{ limit_bytes: 8_000_000_000_000, ip: '203.0.113.201' },
};

async function seedAccount(
  tx: Transaction,
  ctx: Context,
  { ip, ...terms }: Terms,
  servers: DemoServer[],
): Promise<Account> {
  const { account } = await createAccount(tx, ctx.secrets, ctx.config.api_tokens === 'viewable', {
    ...terms,
    start: tx.now - 100 * day,
    expiry: tx.now + 265 * day,
  });
  for (const [at, { name }] of servers.entries()) {
    const own_limit = terms.detailed_billing && at % 2 === 0 ? 200_000_000_000 : null;
    await setContractServer(tx, account, await requireServer(tx, name), own_limit);
  }
  await seedUsers(tx, account);
  const expiry = tx.now + 30 * day;
  const rules = { ...ctx.config, addresses: 'any' as const };
  await createEntry(tx, account.id, { ip, user: 'proxy', expiry }, rules);
  await createOverride(
    tx,
    account.id,
    { server: servers[0]?.name ?? '', hostname: 'staging.example.com', ip: '203.0.113.10', expiry },
    rules,
  );
  return account;
}

/**
 * One user for each combination of flags, named after it, alice of the documents' examples, and one
 * who is inactive.
 */
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
  await createUser(tx, account, {
    name: 'alice',
    display_name: 'Alice',
    flags: { proxy: true },
  });
  const former = await createUser(tx, account, {
    name: 'former',
    display_name: 'Demo former colleague',
    flags: { proxy: true },
  });
  await changeUser(tx, former, { active: false });
}

/** Thirty-five days of what the simulated nodes carry, in `part` of the hours. */
async function seedUsage(
  tx: Transaction,
  account: Account,
  servers: DemoServer[],
  part: number,
): Promise<UsageBucket[]> {
  const random = draws(account.name);
  const ids = new Map((await listServers(tx)).map(({ id, name }) => [name, id]));
  const users = (await listActiveUsers(tx, account.id)).filter(isProxyUser);
  const buckets: UsageBucket[] = [];
  for (let hour = tx.now - 35 * day; hour < tx.now; hour += 3600) {
    for (const server of servers) {
      if (random() > part) continue;
      const user = users[Math.floor(random() * users.length)];
      const server_id = ids.get(server.name);
      if (!user || server_id === undefined) continue;
      const bytes = (rateAt(hour, server) * 3600 * (0.5 + random())) / part;
      const up = Math.floor(bytes * upShare);
      const down = Math.floor(bytes - up);
      buckets.push({ account_id: account.id, server_id, user_id: user.id, hour, up, down });
    }
  }
  for (let at = 0; at < buckets.length; at += 2000) {
    await recordUsage(tx, buckets.slice(at, at + 2000), () => account.start);
  }
  return buckets;
}

/** One user near a limit of bytes, one with few connections, and ends: past and soon. */
async function seedLimits(tx: Transaction, account: Account): Promise<void> {
  const users = await listActiveUsers(tx, account.id);
  const usageOf = await periodOfUsers(tx, account.id, users, tx.now);
  const limits: Record<string, (user: User) => LimitChanges> = {
    alice: (user) => ({ limit_bytes: wholeGigabytes(usageOf(user).usage / 0.85) }),
    'proxy-billing': () => ({ max_connections: 300, services: ['proxy'] }),
    'proxy-admin': () => ({ active_until: tx.now + 5 * day }),
  };
  for (const user of users) {
    const limitsOf = limits[user.name];
    if (limitsOf) await changeUser(tx, user, { limits: limitsOf(user) });
  }
  const guest = await createUser(tx, account, {
    name: 'guest',
    display_name: 'Demo guest',
    flags: { proxy: true },
  });
  await changeUser(tx, guest, { limits: { active_until: tx.now - 2 * day } });
}

const wholeGigabytes = (bytes: number) => 1e9 * Math.max(1, Math.ceil(bytes / 1e9));

const providers = ['db-ip', 'geo-whois-asn', 'iptoasn'];

/** No database knows addresses that are kept for documentation: what the demo shows is made up. */
async function seedGeoStatus(tx: Transaction): Promise<void> {
  const random = draws('geo');
  const countries = new Map((await listServers(tx)).map(({ id, country }) => [id, country]));
  const statuses = (await listExitIps(tx)).flatMap(({ ip, server_id }) =>
    providers.flatMap((provider) => {
      const draw = random();
      if (draw > 0.95) return [];
      const status = draw < 0.8 ? 'ok' : draw < 0.9 ? 'warn' : 'crit';
      const [least, max] = { ok: [0, 100], warn: [300, 900], crit: [500, 7000] }[status] as [
        number,
        number,
      ];
      const distance_km = Math.round(least + random() * (max - least));
      const own = countries.get(server_id) ?? null;
      const country = status !== 'crit' ? own : own === 'US' ? 'CA' : 'US';
      const status_time = tx.now - Math.floor(random() * day);
      return [{ ip, provider, status, status_time, country, distance_km }];
    }),
  );
  await setGeoStatuses(tx, statuses);
}

/** The health of the exit IPs until the nodes tell it: nearly all are well. */
async function seedHealth(ctx: Context): Promise<void> {
  const random = draws('health');
  const byServer = Map.groupBy(await listExitIps(ctx.db), (exit) => exit.server_id);
  await ctx.db.write(demo, async (tx) => {
    for (const [server_id, exits] of byServer) {
      const reports = exits.map(({ ip }) => {
        const drawn = random();
        const status =
          drawn < 0.9 ? ('ok' as const) : drawn < 0.96 ? ('warn' as const) : ('crit' as const);
        return { ip, status, status_time: tx.now };
      });
      await recordHealth(tx, server_id, reports);
    }
  });
}
