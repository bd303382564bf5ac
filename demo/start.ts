// `npm start`: the server with a demo network, its nodes in a process beside it, and what to try
// first, ready to copy.
import { chmodSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { shellWord } from '../kit/src/private_files.ts';
import { type Account, pageOfAccounts } from '../server/src/accounts/accounts.ts';
import { presentUser } from '../server/src/api/account/users.ts';
import { listApiTokens, viewApiToken } from '../server/src/api_tokens/api_tokens.ts';
import { type Config, readOperatorAccess } from '../server/src/config.ts';
import { serversOfContract } from '../server/src/contract_servers/contract_servers.ts';
import type { Running } from '../server/src/main.ts';
import { runUntilStopped } from '../server/src/process.ts';
import { createSignInLink } from '../server/src/sign_in/sign_in.ts';
import { listActiveUsers, listUsers } from '../server/src/users/users.ts';
import type { Customer } from './customer.ts';
import { startGeo } from './geo.ts';
import { planNodes } from './joining.ts';
import type { DemoProxy } from './node.ts';
import type { NodesRun } from './nodes.ts';
import { NodesProcess } from './nodes_process.ts';
import { requireFreePorts } from './ports.ts';
import { demo, seedDemo } from './seed.ts';
import { readSettings, type Settings, settingsOfServer } from './settings.ts';

const linkSeconds = 86_400;
// Before anything is started: a wrong setting is said at once.
const settings = await demoSettings();
const nodes = new NodesProcess(() =>
  console.error(
    'The nodes of the demo have ended; the server goes on. Start it again to have them back.',
  ),
);

// People read this terminal: the log speaks up only when something is wrong.
await runUntilStopped(settingsOfServer(process.env, settings.port_base), async (running) => {
  // The last counts of the nodes are still accepted.
  stopFirst(running, () => nodes.stop());
  const { ctx } = running;
  const seeded = await seedDemo(ctx);
  if (ctx.config.geoip.length === 0) stopFirst(running, await startGeo(ctx));
  const plan = await planNodes(running, settings);
  const run = await nodes.run({ ...plan, customer: await customerOf(running) });
  const facts = await demoFacts(running, run);
  const file = join(ctx.config.data_dir, 'demo.json');
  writeFileSync(`${file}.new`, `${JSON.stringify(facts, null, 2)}\n`, { mode: 0o600 });
  chmodSync(`${file}.new`, 0o600);
  renameSync(`${file}.new`, file);
  console.log(introduction(facts, ctx.config, file, seeded));
  const faults = 'error' in run ? [run.error] : run.faults;
  if (faults.length > 0)
    console.error(
      `The demo's proxy does not work (EXITWARD_DEMO_PORT_BASE chooses other ports):\n  ${faults.join('\n  ')}\n`,
    );
});

async function demoSettings(): Promise<Settings> {
  try {
    const settings = readSettings(process.env);
    await requireFreePorts(settingsOfServer(process.env, settings.port_base), settings.port_base);
    return settings;
  } catch (error) {
    console.error((error as Error).message);
    process.exit(1);
  }
}

/** Ends something of the demo before the server stops. */
function stopFirst(running: Running, end: () => void | Promise<void>): void {
  const stop = running.stop.bind(running);
  running.stop = async () => {
    await end();
    await stop();
  };
}

/** The last account, so that the one that people look at is left to them. */
async function customerOf({ ctx, base_url }: Running): Promise<Customer | undefined> {
  const [, account] = await pageOfAccounts(ctx.db, '', 2);
  const api_token = account && (await apiToken(ctx, account));
  return api_token === undefined ? undefined : { base_url, api_token };
}

/** Undefined where tokens are shown once, when they are made. */
async function apiToken(ctx: Running['ctx'], account: Account): Promise<string | undefined> {
  const token = (await listApiTokens(ctx.db, account.id)).find((token) => token.sealed !== null);
  if (!token) return undefined;
  return ctx.db.write(demo, (tx) => viewApiToken(tx, ctx.secrets, account, token.id));
}

interface DemoFacts {
  base_url: string;
  /** A link that signs in to the console, once. Absent when the account has no admin. */
  console?: { account: string; user: string; link: string };
  admin_url: string;
  admin_token: string;
  accounts: Array<{
    name: string;
    api_token: string;
    servers: string[];
    users: Array<ReturnType<typeof presentUser>>;
  }>;
  /** Absent when the node could not start. */
  proxy?: DemoProxy;
  /** The process of all nodes. */
  nodes_pid: number | undefined;
}

async function demoFacts({ ctx, base_url, admin_url }: Running, run: NodesRun): Promise<DemoFacts> {
  const accounts: DemoFacts['accounts'] = [];
  for (const account of await pageOfAccounts(ctx.db, '', 10)) {
    const api_token = (await apiToken(ctx, account)) ?? 'shown once, when it was created';
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
  const entry = await signInLink(ctx, base_url);
  const facts = {
    base_url,
    admin_url,
    ...(entry ? { console: entry } : {}),
    admin_token,
    accounts,
    nodes_pid: nodes.pid,
  };
  return 'error' in run ? facts : { ...facts, proxy: run.proxy };
}

/** Signs in to the console as the first account's user who may do most. */
async function signInLink(
  ctx: Running['ctx'],
  base_url: string,
): Promise<DemoFacts['console'] | undefined> {
  const [account] = await pageOfAccounts(ctx.db, '', 1);
  const users = account ? await listActiveUsers(ctx.db, account.id) : [];
  const admins = users.filter((user) => user.admin === 1);
  const user = admins.find((admin) => admin.proxy && admin.billing) ?? admins[0];
  if (!account || !user) return undefined;
  const { path } = await ctx.db.write(demo, (tx) =>
    createSignInLink(tx, ctx.secrets, user, linkSeconds),
  );
  return { account: account.name, user: user.name, link: base_url + path };
}

function introduction(
  { base_url, admin_url, admin_token, accounts, proxy, console: entry }: DemoFacts,
  config: Config,
  file: string,
  seeded: boolean,
): string {
  const account = accounts[0];
  if (!account) return `Exitward runs at ${base_url}; there is no account yet.`;
  const { api_token } = account;
  const server = proxy?.server ?? account.servers[0];
  const exitward = commandOf(config);
  return `
Exitward runs at ${base_url} ${seeded ? 'with a new demo network' : 'with the network that it had'}. Documentation: ${base_url}/docs

Before you use the commands below in another terminal, run this there once:

  cd ${shellWord(process.cwd())} && export PATH="$PWD/node_modules/.bin:$PATH"
${entry ? consoleIntroduction(entry, exitward) : ''}
As an account holder (account ${account.name}; the token is the password, the username is empty):

  curl -u :${api_token} ${base_url}/v0/contract
  curl -u :${api_token} '${base_url}/v0/contract/servers?detail=location,usage&server=${server}'
  EXW_URL=${base_url} EXW_TOKEN=${api_token} exw status
${proxy ? proxyIntroduction(proxy, base_url, api_token) : ''}
The earlier interface takes the token as the username:

  curl -u ${api_token}: ${base_url}/v0/contract/whitelist

As the operator (the console at ${admin_url}/ takes the same token):

  curl -H 'Authorization: Bearer ${admin_token}' ${admin_url}/admin/status
  ${exitward} account list
  ${exitward} explain --server ${server} --from 127.0.0.1 --port ${proxy?.port ?? 10001} --host www.example.com
${proxy?.connection_log ? logIntroduction(proxy, exitward) : ''}
These facts are in ${file}. Stop with Ctrl-C; everything is kept.
`;
}

/** The command line with the settings that it needs in another terminal. */
function commandOf({ data_dir, admin_token_file }: Config): string {
  const usual = readOperatorAccess({});
  const ofFolder = readOperatorAccess({ EXITWARD_DATA_DIR: data_dir });
  const settings = [
    ...(ofFolder.admin_url_file === usual.admin_url_file ? [] : [`EXITWARD_DATA_DIR=${data_dir}`]),
    ...(ofFolder.admin_token_file === admin_token_file
      ? []
      : [`EXITWARD_ADMIN_TOKEN_FILE=${admin_token_file}`]),
  ];
  return [...settings, 'exitward'].join(' ');
}

function consoleIntroduction(
  { account, user, link }: NonNullable<DemoFacts['console']>,
  exitward: string,
): string {
  return `
The console, in your browser. This link signs you in as ${user} of ${account}; it works once, within a day:

  ${link}

  ${exitward} user sign-in-link ${account} ${user}     makes another
`;
}

function proxyIntroduction(
  { server, host, port, override_port, origin }: DemoProxy,
  base_url: string,
  api_token: string,
): string {
  const origin_port = new URL(origin).port;
  const json = "-H 'Content-Type: application/json'";
  const hour = '$(($(date +%s) + 3600))';
  return `
A node serves ${server} on this machine. Let your address use its proxy without a password for an hour:

  curl -u :${api_token} ${base_url}/v0/contract/ip-authlist ${json} \\
    -d "{\\"user\\": \\"proxy\\", \\"expiry\\": ${hour}}"
  curl -x ${host}:${port} ${origin}/

The console offers localhost:${port - 1000} first: the ports ${port - 1000} and ${port} lead to the same exit.

Resolve a hostname to an address of your choice: it counts on the override port (${override_port}), not on ${port}:

  curl -u :${api_token} ${base_url}/v0/contract/overrides ${json} \\
    -d "{\\"server\\": \\"${server}\\", \\"hostname\\": \\"shop.example.com\\", \\"ip\\": \\"127.0.0.1\\", \\"expiry\\": ${hour}}"
  curl -x ${host}:${override_port} http://shop.example.com:${origin_port}/

Make a proxy access token and use it as the proxy's password, from any address:

  curl -u :${api_token} ${base_url}/v0/users/token ${json} -d '{"user": "proxy"}'
  curl -x ${host}:${port} -U proxy:TOKEN ${origin}/
`;
}

function logIntroduction({ server, host, connection_log }: DemoProxy, exitward: string): string {
  return `
The node of ${server} keeps who used its exit (EXITWARD_AGENT_CONNECTION_LOG=${connection_log}). Only an operator token with a right of its own may ask:

  ${exitward} operator-token create abuse-desk --may-find-connections
  EXITWARD_ADMIN_TOKEN=TOKEN ${exitward} connection find --exit ${host} --at $(date -u +%Y-%m-%dT%H:%MZ) --reason "a try"
`;
}
