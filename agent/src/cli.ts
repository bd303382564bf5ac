// The command line `exitward-agent`: join a network, run the node, and ask a running one how it stands.
import { existsSync, readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { Command, CommanderError } from 'commander';
import { terminalWidth, wrapped } from '../../kit/src/cli/wrapped.ts';
import { startFaults } from '../../kit/src/log.ts';
import { type Environment, SettingsFault } from '../../kit/src/settings.ts';
import { type Config, readConfig } from './config.ts';
import type { Asked, Report } from './doctor/doctor.ts';
import { applyFirewall, firewallOptions, firewallRules, removeFirewall } from './firewall.ts';
import { type Joining, joinNetwork, policyFolder, type UsageLeft } from './identity.ts';
import type { Answer } from './link/questions.ts';
import { askExplain, askStatus, holdFolder, type Status } from './local.ts';
import { type Line, notify, print, type Shown, timeInWords } from './output.ts';
import { Replica } from './store/replica.ts';
import { version } from './version.ts';

/** Below the commands, in --help and in the manual page. */
export const notes = `
Examples:
  exitward-agent doctor https://api.example.com
  exitward-agent explain --from 203.0.113.7 --port 10001 --host www.example.com

Settings are environment variables, EXITWARD_AGENT_…; all are in docs/configuration.md.
Off a terminal, output is tab-separated with plain numbers; --json prints it all for programs.`;

const hint = 'Add --help for what is expected.';

/** A command line that was not understood: exit code 2. */
class UsageFault extends Error {}

/** Every command, from which parsing, help, the manual page and completions come. */
export function commandLine(env: Environment): Command {
  const program = new Command('exitward-agent')
    .description('The node agent: makes a proxy do what the control plane says.')
    .version(version)
    .addHelpText('after', notes)
    .exitOverride()
    .configureOutput({
      outputError: (text) => notify(...faultText(text).split('\n')),
      // Commander's own lines are as long as they are; then all text is broken in one way.
      getOutHelpWidth: () => Number.POSITIVE_INFINITY,
      getErrHelpWidth: () => Number.POSITIVE_INFINITY,
      writeOut: (text) => process.stdout.write(wrapped(text, terminalWidth())),
      writeErr: (text) => process.stderr.write(wrapped(text, terminalWidth())),
    })
    .showHelpAfterError(hint);
  program.commandsGroup('The node:');
  addJoin(program, env);
  program
    .command('run')
    .description('run the node until SIGTERM; after SIGUSR2 Squid runs on for the next agent')
    // Loaded where they are needed, as the doctor is: the other commands do without most of the agent.
    .action(async () =>
      (await import('./process.ts')).runUntilStopped(readConfig(env), env.NOTIFY_SOCKET),
    );
  program.commandsGroup('Look at it:');
  addStatus(program, env);
  addExplain(program, env);
  addDoctor(program, env);
  program.commandsGroup('Its machine:');
  addGuard(program, env);
  program.helpCommand('help [command]', 'display help for command');
  return program;
}

/** Runs one command line and returns the exit code: 0 done, 1 failed, 2 not understood. */
export async function main(argv: readonly string[], env: Environment): Promise<number> {
  // The reader may stop early, as head does; that is no failure of ours.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
  });
  try {
    await commandLine(env).parseAsync(argv);
    return 0;
  } catch (error) {
    // Commander has printed its own: help and version end well, everything else is a usage fault.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    if (error instanceof Faulty) return 1;
    const message = `exitward-agent: ${error instanceof Error ? error.message : String(error)}`;
    const sentences = error instanceof SettingsFault ? message.split('\n') : [message];
    notify(...startFaults(env, sentences));
    if (!(error instanceof UsageFault)) return 1;
    notify(hint);
    return 2;
  }
}

/** Commander's own sentence, less what may be a secret: the value of an unknown option, an argument too many. */
function faultText(text: string): string {
  return text
    .trimEnd()
    .replace(/^error: /, 'exitward-agent: ')
    .replace(/(unknown option '[^'=]*)=.*'/s, "$1'")
    .replace(/(too many arguments).*/s, '$1');
}

// ---- join -----------------------------------------------------------------------------------

function addJoin(program: Command, env: Environment): void {
  program
    .command('join <url> <code>')
    .description('join with a one-time code; - reads the code from standard input')
    .option('--name <name>', 'what the operator sees; the name of this machine when omitted')
    .option('--again', 'take another identity in place of the one that is there')
    .option('--json', 'print the outcome for programs')
    .action(async (url: string, code: string, options: Options) => {
      const { state_dir } = readConfig(env);
      const identity = await joinAlone({
        state_dir,
        url,
        code: code === '-' ? fromStandardInput('code') : code,
        name: options.name ?? hostname(),
        again: options.again ?? false,
      });
      const { token: _, ...told } = identity;
      const sentence = `This machine is node ${identity.node} of ${identity.server} now; start it with exitward-agent run.`;
      if (told.usage_left) notify(sentenceOf(told.usage_left));
      print({ value: told, sentence }, options.json ?? false);
    });
}

/** Joins while no agent uses what is replaced. */
async function joinAlone(joining: Joining) {
  const { state_dir } = joining;
  if (!existsSync(state_dir)) return joinNetwork(joining);
  const hold = await holdFolder(state_dir);
  if (!hold && joining.again) throw new Error(`An agent runs on ${state_dir}; stop it first.`);
  try {
    return await joinNetwork(joining);
  } finally {
    hold?.release();
  }
}

function sentenceOf({ path, bytes }: UsageLeft): string {
  const what = bytes === null ? 'it cannot be read' : `${bytes} bytes of it were not acknowledged`;
  return `What was counted as the old node is put aside as ${path}; ${what}, and none of it will be sent.`;
}

interface Options {
  name?: string;
  again?: boolean;
  json?: boolean;
  outbound?: string;
}

function fromStandardInput(what: string): string {
  try {
    return readFileSync(0, 'utf8').trim();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new Error(`The ${what} cannot be read from standard input (${code}).`);
  }
}

// ---- status ---------------------------------------------------------------------------------

function addStatus(program: Command, env: Environment): void {
  program
    .command('status')
    .description('how the running agent stands')
    .option('--json', 'print everything for programs')
    .action(async ({ json = false }: Options) => {
      const status = await askStatus(readConfig(env).state_dir);
      print(showStatus(status, process.stdout.isTTY && !json), json);
    });
}

function showStatus(status: Status, forPeople: boolean): Shown {
  const { stored, applied, heard_at } = status;
  const time = (seconds: number) => (forPeople ? timeInWords(seconds) : String(seconds));
  const heard = heard_at === null ? '' : time(heard_at);
  const ago = status.heard_seconds_ago;
  const ends = status.vpn?.certificate_expiry;
  const lines: Line[] = [
    ['version', status.version],
    ['control plane', status.url],
    ['server', status.server],
    ['node', String(status.node)],
    ['engine', status.engine],
    ['state', status.state],
    ['revision', applied ? String(applied.revision) : ''],
    ['stored', stored ? String(stored.revision) : ''],
    ['heard', forPeople && ago !== null ? `${heard}, ${ago} s ago` : heard],
    ['ports', status.ports.join(',')],
    ['connections', String(status.connections)],
    ['drained', status.drained ? 'yes' : 'no'],
    ['usage waiting', String(status.usage_waiting)],
    ...status.exits.map(
      (exit): Line => ['exit', exit.ip, exit.status, exit.checked_at ? time(exit.checked_at) : ''],
    ),
    ...(status.vpn?.services ?? []).map(
      ({ service, ip, status, checked_at }): Line => [service, ip, status, time(checked_at)],
    ),
    ...(ends ? [['certificate ends', time(ends)] as Line] : []),
    ...status.faults.map(({ kind, message, since }): Line => ['fault', kind, time(since), message]),
  ];
  return { value: status, lines };
}

// ---- explain --------------------------------------------------------------------------------

interface ExplainOptions extends Options {
  from?: string;
  port?: number;
  host?: string;
  service?: string;
  exit?: string;
  destinationPort?: number;
  method: string;
  user?: string;
  token?: string;
}

function addExplain(program: Command, env: Environment): void {
  program
    .command('explain')
    .description('what the running agent would do with a connection, and by which record')
    .option('--from <ip>', 'address that the connection comes from')
    .option('--port <port>', 'port of the proxy, by the port scheme', port('--port'))
    .option('--host <host>', 'hostname or address that it asks for')
    .option(
      '--destination-port <port>',
      '443 for CONNECT, 80 otherwise',
      port('--destination-port'),
    )
    .option('--method <method>', 'of the request', 'CONNECT')
    .option('--user <user>', 'username that it presents; user@account for a VPN')
    .option(
      '--service <service>',
      'a login to vpn-ikev2, vpn-ikev1 or vpn-l2tp with the right password',
    )
    .option('--exit <ip>', 'address of the server that the VPN client dials')
    .option('--token <token>', 'proxy access token that it presents; - reads standard input')
    .option('--json', 'print the answer for programs')
    .action(async (options: ExplainOptions) => {
      const { from, host, method, user, service, exit } = options;
      if (service !== undefined) {
        if (user === undefined || exit === undefined) {
          throw new UsageFault('--service: expected --user and --exit with it');
        }
        const login = { service, login: user, exit_ip: exit };
        const answer = await askExplain(readConfig(env).state_dir, login);
        return print(showAnswer(answer), options.json ?? false);
      }
      if (from === undefined || host === undefined || options.port === undefined) {
        const missing = {
          '--from <ip>': from,
          '--port <port>': options.port,
          '--host <host>': host,
        };
        const [first] = Object.entries(missing).find(([, value]) => value === undefined) ?? [];
        throw new UsageFault(`required option '${first}' not specified`);
      }
      if ((user === undefined) !== (options.token === undefined)) {
        throw new UsageFault('--user, --token: expected both, or neither');
      }
      const token = options.token === '-' ? fromStandardInput('token') : options.token;
      const destination_port = options.destinationPort ?? (method === 'CONNECT' ? 443 : 80);
      const answer = await askExplain(readConfig(env).state_dir, {
        ...{ from, port: options.port, method, host, destination_port },
        ...(user === undefined ? {} : { user }),
        ...(token === undefined ? {} : { token }),
      });
      print(showAnswer(answer), options.json ?? false);
    });
}

function showAnswer(answer: Answer): Shown {
  const lines: Line[] = [
    ['verdict', answer.verdict],
    ['status', String(answer.status)],
    ['reason', answer.reason],
    ['message', answer.message],
    ['rule', answer.rule ?? ''],
    ['account', answer.account ?? ''],
    ['user', answer.user ?? ''],
    ['exit', answer.exit_ip ?? ''],
    ['dial', answer.dial ?? ''],
    ['at revision', String(answer.revision)],
  ];
  return { value: answer, lines };
}

const port = (name: string) => (text: string) => {
  const number = Number(text);
  if (/^\d{1,5}$/.test(text) && number >= 1 && number <= 65_535) return number;
  throw new UsageFault(`${name}: ${JSON.stringify(text)} is no port; expected 1 to 65535`);
};

// ---- doctor ---------------------------------------------------------------------------------

/** A host that Debian's machines reach anyway. */
const usualOutbound = 'deb.debian.org';

/** The machine has a fault, which was told: exit code 1. */
class Faulty extends Error {}

function addDoctor(program: Command, env: Environment): void {
  program
    .command('doctor [url]')
    .description(
      'look at this machine before and after joining; say what is wrong and what mends it',
    )
    .option(
      '--outbound <host>',
      'try connections to its ports 80 and 443; none: no host',
      usualOutbound,
    )
    .option('--json', 'print everything for programs')
    .action(async (url: string | undefined, { outbound, json = false }: Options) => {
      const asked: Asked = { url, outbound: outbound === 'none' ? undefined : outbound };
      const { examine } = await import('./doctor/doctor.ts');
      const report = await examine(env, asked);
      print(showReport(report, process.stdout.isTTY && !json), json);
      if (report.state === 'fault') throw new Faulty();
    });
}

/** For people each finding with its remedy below; off a terminal a line of four cells. */
function showReport(report: Report, forPeople: boolean): Shown {
  const { findings } = report;
  if (!forPeople) {
    const lines = findings.map(({ state, name, sentence, remedy }): Line => {
      return [state, name, sentence, remedy ?? ''];
    });
    return { value: report, lines };
  }
  const wide = Math.max(...findings.map(({ name }) => name.length));
  const lines = findings.flatMap(({ state, name, sentence, remedy }) => [
    `${state.padEnd(7)}  ${name.padEnd(wide)}  ${sentence}`,
    ...(remedy === null ? [] : [`${''.padEnd(9 + wide)}  → ${remedy}`]),
  ]);
  return { value: report, text: wrapped(`${lines.join('\n')}\n`, terminalWidth()) };
}

// ---- guard ----------------------------------------------------------------------------------

function addGuard(program: Command, env: Environment): void {
  const guard = program
    .command('guard')
    .description('the rules in the kernel that keep exit addresses from private destinations');
  guard
    .command('show')
    .description('print them, as nft reads them, for the policy on disk')
    .action(async () => {
      const text = firewallRules(await readGuard(readConfig(env)));
      print({ value: text, text }, false);
    });
  guard
    .command('apply')
    .description('put them in force')
    .action(async () => {
      const options = await readGuard(readConfig(env));
      await applyFirewall(options);
      const sentence = `The guard is in force for ${options.exit_ips.length} exit addresses.`;
      print({ value: options.exit_ips, sentence }, false);
    });
  guard
    .command('remove')
    .description('take them away; with EXITWARD_AGENT_GUARD=nftables the agent brings them back')
    .action(async () => {
      await removeFirewall();
      print({ value: null, sentence: 'The guard is removed.' }, false);
    });
}

async function readGuard(config: Config) {
  const replica = new Replica(policyFolder(config.state_dir));
  try {
    await replica.load();
    if (!replica.position) throw new Error('There is no policy on disk yet; run the agent first.');
    return firewallOptions(config, replica.policy.listeners);
  } finally {
    replica.close();
  }
}
