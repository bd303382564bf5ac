// `npm start`: the server with a demo network, and what to try first, ready to copy.
import { chmodSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { listApiTokens, pageOfAccounts, viewApiToken } from '../server/src/accounts/accounts.ts';
import type { Running } from '../server/src/main.ts';
import { runUntilStopped } from '../server/src/process.ts';
import { serversOfContract } from '../server/src/servers/servers.ts';
import { presentUser } from '../server/src/users/routes.ts';
import { listUsers } from '../server/src/users/users.ts';
import { demo, reportDemoHealth, seedDemo } from './seed.ts';

const health_milliseconds = 5 * 60_000;

// People read this terminal: the log speaks up only when something is wrong.
await runUntilStopped({ EXITWARD_LOG_LEVEL: 'warn', ...process.env }, async (running) => {
  const { ctx } = running;
  const seeded = await seedDemo(ctx);
  if (!seeded) await reportDemoHealth(ctx);
  setInterval(
    () => reportDemoHealth(ctx).catch((error) => ctx.log.warn(error)),
    health_milliseconds,
  ).unref();
  const facts = await demoFacts(running);
  const file = join(ctx.config.data_dir, 'demo.json');
  writeFileSync(`${file}.new`, `${JSON.stringify(facts, null, 2)}\n`, { mode: 0o600 });
  chmodSync(`${file}.new`, 0o600);
  renameSync(`${file}.new`, file);
  console.log(introduction(facts, file, seeded));
});

interface DemoFacts {
  base_url: string;
  admin_url: string;
  admin_token: string;
  accounts: Array<{
    name: string;
    api_token: string;
    servers: string[];
    users: Array<ReturnType<typeof presentUser>>;
  }>;
}

async function demoFacts({ ctx, base_url, admin_url }: Running): Promise<DemoFacts> {
  const accounts: DemoFacts['accounts'] = [];
  for (const account of await pageOfAccounts(ctx.db, '', 10)) {
    const token = (await listApiTokens(ctx.db, account.id)).find((one) => one.sealed !== null);
    const api_token = token
      ? await ctx.db.write(demo, (tx) => viewApiToken(tx, ctx.secrets, account, token.id))
      : 'shown once, when it was created';
    const users = await listUsers(ctx.db, account.id);
    const servers = await serversOfContract(ctx.db, account.id);
    accounts.push({
      name: account.name,
      api_token,
      servers: servers.map(({ name }) => name),
      users: users.map(presentUser),
    });
  }
  const admin_token = readFileSync(ctx.config.admin_token_file, 'utf8').trim();
  return { base_url, admin_url, admin_token, accounts };
}

function introduction(
  { base_url, admin_url, admin_token, accounts }: DemoFacts,
  file: string,
  seeded: boolean,
): string {
  const account = accounts[0];
  if (!account) return `Exitward runs at ${base_url}; there is no account yet.`;
  const { api_token } = account;
  const server = account.servers[0];
  return `
Exitward runs at ${base_url} ${seeded ? 'with a new demo network' : 'with the network that it had'}. Documentation: ${base_url}/docs

As an account holder (account ${account.name}; the token is the password, the username is empty):

  curl -u :${api_token} ${base_url}/v0/contract
  curl -u :${api_token} '${base_url}/v0/contract/servers?detail=location,usage&server=${server}'

Let this machine connect without a password for the next hour, then look at the list:

  curl -u :${api_token} ${base_url}/v0/contract/ip-authlist \\
    -H 'Content-Type: application/json' -d "{\\"user\\": \\"proxy\\", \\"expiry\\": $(($(date +%s) + 3600))}"
  curl -u :${api_token} ${base_url}/v0/contract/ip-authlist

Resolve a hostname to an address of your choice on ${server}, and make a proxy access token:

  curl -u :${api_token} ${base_url}/v0/contract/overrides -H 'Content-Type: application/json' \\
    -d "{\\"server\\": \\"${server}\\", \\"hostname\\": \\"www.example.com\\", \\"ip\\": \\"203.0.113.7\\", \\"expiry\\": $(($(date +%s) + 3600))}"
  curl -u :${api_token} ${base_url}/v0/users/token -H 'Content-Type: application/json' -d '{"user": "proxy"}'

The earlier interface takes the token as the username:

  curl -u ${api_token}: ${base_url}/v0/contract/whitelist

As the operator:

  curl -H 'Authorization: Bearer ${admin_token}' ${admin_url}/admin/status
  npx exitward account list

These facts are in ${file}. Stop with Ctrl-C; everything is kept.
`;
}
