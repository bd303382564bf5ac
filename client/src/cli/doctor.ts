// exw doctor: why a connection through the proxy does not work. It checks each step from this
// machine to the exit, and stops at the first that blocks the others.

import { Failure, UsageFault } from '../../../kit/src/cli/failures.ts';
import { type Part, print } from '../../../kit/src/cli/output.ts';
import { requestThrough } from '../../../kit/src/cli/through.ts';
import { timeInWords } from '../../../kit/src/cli/values.ts';
import { terminalWidth, wrapped } from '../../../kit/src/cli/wrapped.ts';
import { quoted } from '../../../kit/src/quoted.ts';
import type { Exitward } from '../client.ts';
import {
  ConnectionError,
  ExitwardError,
  ForbiddenError,
  NotFoundError,
  UnauthorizedError,
} from '../errors.ts';
import type { ContractServer, ExitIp } from '../openapi.ts';
import { proxyUsers } from './authlist.ts';
import { command } from './command.ts';
import {
  type Credentials,
  credentialOptions,
  credentialsOf,
  portOptions,
  selectExit,
  urlOf,
  withBasePort,
} from './exits.ts';
import { ownAddress } from './own_address.ts';
import type { Account, Session } from './session.ts';
import { address, now } from './values.ts';

/** The outcome of one check. */
interface Finding {
  name: string;
  state: 'ok' | 'warning' | 'fault';
  sentence: string;
  /** The command or step that fixes it. */
  remedy: string | null;
}

const soonSeconds = 3600;
const defaultDestination = 'example.com:443';

const ok = (name: string, sentence: string): Finding => ({
  name,
  state: 'ok',
  sentence,
  remedy: null,
});
const warning = (name: string, sentence: string, remedy: string): Finding => ({
  name,
  state: 'warning',
  sentence,
  remedy,
});
const fault = (name: string, sentence: string, remedy: string): Finding => ({
  name,
  state: 'fault',
  sentence,
  remedy,
});

function destination(text: string): string {
  if (/^(\[[\da-f:.]+\]|[\w.-]+):\d{1,5}$/i.test(text)) return text;
  throw new UsageFault(
    `${quoted(text)}: expected a host and a port, such as ${defaultDestination}`,
  );
}

export const doctor = command({
  name: 'doctor',
  reportsSettings: true,
  summary: 'find out why a connection through the proxy fails, and how to fix it',
  options: {
    server: {
      completes: 'servers',
      summary: 'server to check (default: the first that works)',
      value: '<name>',
      read: String,
    },
    exit: { completes: 'exits', summary: 'exit IP to check', value: '<ip>', read: address },
    to: {
      summary: `destination to connect to through the exit (default: ${defaultDestination})`,
      value: '<host:port>',
      read: destination,
    },
    ...credentialOptions,
    ...portOptions,
  },
  notes: `Each line starts with ok, warning or fault; the line below says how to fix it. The exit code is 1 if there is a fault.
With --user and --token-file, that proxy access token is tried, and your address doesn't need to be listed.`,
  examples: ['exw doctor', 'exw doctor --server fra1 --user alice --token-file token.txt'],
  run: async ({ options }, session) => {
    const credentials = await credentialsOf(options.user, options['token-file']);
    const findings: Finding[] = [];
    for await (const finding of examined(session, options, credentials)) findings.push(finding);
    const hasFault = findings.some(({ state }) => state === 'fault');
    const parts = [partOf(findings, process.stdout.isTTY)];
    print({ value: { state: worst(findings), findings }, parts }, session.isJson);
    return hasFault ? 1 : 0;
  },
});

const worst = (findings: readonly Finding[]) =>
  (['fault', 'warning'] as const).find((state) =>
    findings.some((finding) => finding.state === state),
  ) ?? 'ok';

type Wanted = Parameters<typeof urlOf>[2] & {
  server?: string | undefined;
  exit?: string | undefined;
  to?: string | undefined;
};

/** One check after another; a check that depends on something faulty is left out. */
async function* examined(
  session: Session,
  wanted: Wanted,
  credentials: Credentials | undefined,
): AsyncGenerator<Finding> {
  for (const sentence of session.unknownSettings) {
    yield warning('settings', sentence, 'correct it in the environment');
  }
  let account: Account;
  try {
    account = await session.account();
  } catch (error) {
    return yield fault('login', (error as Error).message, 'exw login --url https://…');
  }
  yield ok('login', `The service is ${account.url}, and the token comes from ${account.source}.`);
  const [service, isUsable] = await serviceOf(account);
  yield* service;
  if (!isUsable) return;
  const user = credentials?.user ?? (await userInRemedies(account));
  if (!credentials) yield await addressOf(account.client, user);
  let selected: { server: ContractServer; exit: ExitIp };
  let portOf: Wanted;
  try {
    selected = await selectExit(account, wanted);
    portOf = await withBasePort(account, wanted);
  } catch (error) {
    const remedy = 'exw contract lists the servers of the contract; your provider adds others';
    return yield fault('exit', (error as Error).message, remedy);
  }
  yield exitOf(selected);
  yield* throughOf(selected, portOf, credentials, user);
}

/** Whether the service can be reached, accepts the token, and has a valid contract. */
async function serviceOf({ client, url }: Account): Promise<[Finding[], isUsable: boolean]> {
  try {
    const { name, expiry, period } = await client.contract.get({ retries: 1, timeoutSeconds: 10 });
    const token = ok('token', `The service accepts the token of ${name}.`);
    return [[ok('service', `${url} answers.`), token, contractOf(expiry, period)], true];
  } catch (error) {
    if (error instanceof ConnectionError) {
      const remedy = 'check that this machine is online and that --url is right';
      return [[fault('service', error.message, remedy)], false];
    }
    const answers = ok('service', `${url} answers.`);
    return [[answers, tokenFault(error, url)], false];
  }
}

function tokenFault(error: unknown, url: string): Finding {
  const { message } = error as Error;
  if (error instanceof UnauthorizedError) {
    return fault('token', message, `exw login --url ${url} with another API token`);
  }
  if (error instanceof ForbiddenError) return fault('token', message, 'ask your provider');
  const remedy =
    error instanceof NotFoundError
      ? 'check --url and --variant'
      : 'try again later; ask your provider';
  return fault('service', message, remedy);
}

function contractOf(expiry: number, { usage, limit }: { usage: number; limit: number }): Finding {
  if (expiry <= now()) {
    return fault('contract', `The contract ended ${timeInWords(expiry)}.`, 'ask your provider');
  }
  if (usage >= limit) {
    const remedy =
      'wait for the next period (exw contract), or ask your provider for a higher limit';
    return warning('contract', 'The limit of the billing period is used up.', remedy);
  }
  return ok('contract', `The contract is valid until ${timeInWords(expiry)}.`);
}

/** Whether the address of this machine is listed, for whom and until when. */
async function addressOf(client: Exitward, user: string): Promise<Finding> {
  try {
    const { ip, entry } = await ownAddress(client);
    if (!entry) return fault('address', `${ip} is not on the authlist.`, addOf(user));
    const until = `until ${timeInWords(entry.expiry)}`;
    if (!entry.user_active) {
      const sentence = `${entry.ip} is listed for ${entry.user}, who is not an active proxy user.`;
      return fault('address', sentence, `exw authlist change ${entry.id} --user ${user}`);
    }
    const sentence = `${entry.ip} is listed for ${entry.user} ${until}.`;
    return entry.expiry - now() > soonSeconds
      ? ok('address', sentence)
      : warning('address', sentence, `exw authlist change ${entry.id} --expiry +8h`);
  } catch (error) {
    if (!(error instanceof ExitwardError || error instanceof Failure)) throw error;
    const sentence = `Could not check whether your address is listed: ${error.message}`;
    return warning('address', sentence, 'exw authlist list, with a token that has full access');
  }
}

function exitOf({ server, exit }: { server: ContractServer; exit: ExitIp }): Finding {
  const sentence = `${exit.ip} of ${server.server} is ${exit.status}.`;
  if (exit.status === 'ok') return ok('exit', sentence);
  const remedy = 'use another one: exw exits, and --server or --exit';
  return exit.status === 'crit'
    ? fault('exit', sentence, remedy)
    : warning('exit', sentence, remedy);
}

/** Whether the port is open, and how the proxy responds to a connection. */
async function* throughOf(
  { server, exit }: { server: ContractServer; exit: ExitIp },
  wanted: Wanted,
  credentials: Credentials | undefined,
  user: string,
): AsyncGenerator<Finding> {
  const proxy = new URL(urlOf(server, exit, wanted, credentials));
  const to = wanted.to ?? defaultDestination;
  const where = `Port ${proxy.port} of ${proxy.hostname}`;
  const outcome = await requestThrough(proxy, to);
  if ('closed' in outcome) {
    const remedy = 'check that no firewall blocks it, and that --base-port and --host are right';
    return yield fault('port', `${where} can't be used: ${outcome.closed}.`, remedy);
  }
  yield ok('port', `${where} is open.`);
  if (outcome.status === 200) return yield ok('proxy', `It connects to ${to}.`);
  yield fault(
    'proxy',
    `It refuses ${to}: ${outcome.answer}`,
    remediesFor(user)[outcome.reason] ??
      `try another --to or another server (exw exits), or ask your provider about "${outcome.reason}"`,
  );
}

const addOf = (user: string) => `exw authlist add --user ${user}`;

/** A user that the remedies can name; `NAME` where the service lists none. */
async function userInRemedies({ client, variant }: Account): Promise<string> {
  const names = variant === 'earlier' ? [] : await proxyUsers(client).catch(() => []);
  return names[0] ?? 'NAME';
}

/** By the reasons of Exitward's proxies. */
const remediesFor = (user: string): Record<string, string> => ({
  unknown_address: addOf(user),
  bad_token: `exw token create --user ${user}`,
  expired_token: `exw token create --user ${user}`,
  old_token_version: `exw token create --user ${user}`,
  inactive_user: 'ask your administrator to activate the user, or use another user',
  no_proxy_flag: 'ask your administrator to let the user use the proxies, or use another user',
  user_expired: 'ask your administrator to extend the user’s time, or use another user',
  not_for_user:
    'use another server: exw exits; or ask your administrator to allow this one for the user',
  user_limit_reached: 'ask your administrator to raise the user’s limit, or use another user',
  too_many_connections: 'close connections, or wait',
  too_many_addresses: 'close the connections from other addresses, or wait a few minutes',
  wrong_port: 'set --base-port to the value from your provider',
  server_not_on_contract: 'use another one: exw exits',
  drained: 'use another one: exw exits, and --server',
  destination_refused:
    'try another destination with --to: the operator decides which addresses and ports are open',
});

/** For people each finding with its remedy below; for programs a line of four cells. */
function partOf(findings: readonly Finding[], forPeople: boolean): Part {
  if (!forPeople) {
    const columns = ['state', 'name', 'sentence', 'remedy'].map((name) => [name, name] as const);
    return { rows: findings, columns, empty: undefined };
  }
  const wide = Math.max(...findings.map(({ name }) => name.length));
  const lines = findings.flatMap(({ state, name, sentence, remedy }) => [
    `${state.padEnd(7)}  ${name.padEnd(wide)}  ${sentence}`,
    ...(remedy === null ? [] : [`${''.padEnd(9 + wide)}  → ${remedy}`]),
  ]);
  return { text: wrapped(`${lines.join('\n')}\n`, terminalWidth()) };
}
