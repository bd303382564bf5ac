// The command line `exitward-agent`: join a network, run the node, and ask a running one for its
// status.
import { existsSync } from 'node:fs';
import { hostname } from 'node:os';
import { commandsWith, type Noun, type Program } from '../../kit/src/cli/command.ts';
import { completionOf } from '../../kit/src/cli/completion.ts';
import { UsageFault } from '../../kit/src/cli/failures.ts';
import { findingsPart } from '../../kit/src/cli/findings.ts';
import { readInput } from '../../kit/src/cli/input.ts';
import {
  type Column,
  done,
  notify,
  type Part,
  record,
  type Shown,
} from '../../kit/src/cli/output.ts';
import { runProgram } from '../../kit/src/cli/program.ts';
import { invalid, timeInWords } from '../../kit/src/cli/values.ts';
import { terminalWidth, wrapped } from '../../kit/src/cli/wrapped.ts';
import { startFaults } from '../../kit/src/log.ts';
import type { Answer } from '../../kit/src/node_interface.ts';
import { forOperators } from '../../kit/src/refusal_settings.ts';
import { type Environment, SettingsFault } from '../../kit/src/settings.ts';
import { type Config, readConfig, unknownSettings } from './config.ts';
import { applyFirewall, firewallOptions, firewallRules, removeFirewall } from './firewall.ts';
import { type Joining, joinNetwork, policyFolder, type UsageLeft } from './identity.ts';
import { askExplain, askStatus, holdFolder, type Status } from './local.ts';
import { missingInWords, missingPrograms } from './required_programs.ts';
import { Replica } from './store/replica.ts';
import { version } from './version.ts';

const command = commandsWith<Environment>();

// ---- join, run ------------------------------------------------------------------------------

const join = command({
  name: 'join',
  summary: 'join with a one-time code; - reads the code from standard input',
  arguments: { url: { read: String }, code: { read: String } },
  options: {
    name: {
      summary: 'name that operators see; default: the name of this machine',
      value: '<name>',
      read: String,
    },
    again: { summary: 'replace the existing identity' },
  },
  run: async ({ arguments: { url, code }, options: { name, again } }, env) => {
    const config = readConfig(env);
    const { token: _, ...joined } = await joinAlone({
      state_dir: config.state_dir,
      url,
      code: code === '-' ? readInput('-').trim() : code,
      name: name ?? hostname(),
      again,
    });
    if (joined.usage_left) notify(sentenceOf(joined.usage_left));
    const missing = missingInWords(await missingPrograms(config));
    if (missing) notify(missing);
    const sentence = `This machine is node ${joined.node} of ${joined.server} now; start it with exitward-agent run.`;
    return done(sentence, joined);
  },
});

/** Joins while no agent uses the files that are replaced. */
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
  const loss = bytes === null ? 'it cannot be read' : `${bytes} bytes of it were not acknowledged`;
  return `The usage of the old node was moved to ${path}; ${loss}, and none of it will be sent.`;
}

const run = command({
  name: 'run',
  summary: 'run the node until SIGTERM; SIGUSR2 leaves Squid running for the next agent',
  serves: true,
  reportsSettings: true,
  run: async (_given, env) => {
    // Loaded only when needed, like the doctor: other commands do without most of the agent.
    const { runUntilStopped } = await import('./process.ts');
    await runUntilStopped(readConfig(env), env.NOTIFY_SOCKET);
    return 0;
  },
});

// ---- status ---------------------------------------------------------------------------------

const status = command({
  name: 'status',
  summary: 'show the status of the running agent',
  run: async (_given, env) =>
    showStatus(await askStatus(readConfig(env).state_dir), process.stdout.isTTY),
});

function showStatus(status: Status, forPeople: boolean): Shown {
  const { stored, applied, heard_at, heard_seconds_ago: ago, vpn } = status;
  const heard = heard_at === null ? '' : forPeople ? timeInWords(heard_at) : String(heard_at);
  const facts = {
    ...status,
    revision: applied?.revision,
    stored: stored?.revision,
    heard: forPeople && ago !== null ? `${heard}, ${ago} s ago` : heard,
    certificate_ends: vpn?.certificate_expiry,
    connection_log_mode: status.connection_log?.mode,
    connection_log_since: status.connection_log?.kept_since,
  };
  const columns: Column[] = [
    'version',
    ['control plane', 'url'],
    ...['server', 'node', 'engine', 'state', 'revision', 'stored', 'heard'],
    ['ports', 'ports', 'list'],
    ...['connections', 'drained', 'usage_waiting'],
    ['connection log', 'connection_log_mode'],
    ...(facts.connection_log_since
      ? [['connection log since', 'connection_log_since', 'time'] as const]
      : []),
    ...(facts.certificate_ends ? [['certificate ends', 'certificate_ends', 'time'] as const] : []),
  ];
  const checks = [
    ...status.exits.map((exit) => ({ check: 'exit', ...exit })),
    ...(vpn?.services ?? []).map(({ service, ...rest }) => ({ check: service, ...rest })),
  ];
  const checkColumns: Column[] = [
    'check',
    ['address', 'ip'],
    ['status', 'status', 'state'],
    ['at', 'checked_at', 'past'],
  ];
  return {
    value: status,
    parts: [
      { record: facts, columns },
      ...(checks.length > 0 ? [{ rows: checks, columns: checkColumns, empty: undefined }] : []),
      ...(status.faults.length > 0 ? [faultsPart(status.faults, forPeople)] : []),
    ],
  };
}

/** Whole sentences for people; otherwise a line of four cells. */
function faultsPart(faults: Status['faults'], forPeople: boolean): Part {
  if (!forPeople) {
    const rows = faults.map((fault) => ({ what: 'fault', ...fault }));
    return { rows, columns: ['what', 'kind', 'since', 'message'], empty: undefined };
  }
  const lines = faults.map(
    ({ kind, message, since }) => `fault  ${kind}  since ${timeInWords(since)}  ${message}\n`,
  );
  return { text: wrapped(lines.join(''), terminalWidth()) };
}

// ---- explain --------------------------------------------------------------------------------

const text = (summary: string, value: string) => ({ summary, value, read: String });
const portOption = (summary: string) => ({ summary, value: '<port>', read: port });

const explain = command({
  name: 'explain',
  summary: 'explain what the running agent would do with a connection, and why',
  options: {
    from: text('address that the connection comes from', '<ip>'),
    port: portOption('port of the proxy, by the port scheme'),
    host: text('hostname or address that it requests', '<host>'),
    'destination-port': portOption('port of the host; default: 443 for CONNECT, else 80'),
    method: text('method of the request; default: CONNECT', '<method>'),
    user: text('username; user@account for a VPN', '<user>'),
    service: text(
      'a login to vpn-ikev2, vpn-ikev1 or vpn-l2tp with the right password',
      '<service>',
    ),
    exit: text('address of the server that the VPN client dials', '<ip>'),
    token: text('proxy access token; - reads standard input', '<token>'),
  },
  run: async ({ options }, env) => {
    const { from, host, port, method = 'CONNECT', user, service, exit } = options;
    const { state_dir } = readConfig(env);
    if (service !== undefined) {
      if (user === undefined || exit === undefined) {
        throw new UsageFault('--service: expected --user and --exit with it');
      }
      return showAnswer(await askExplain(state_dir, { service, login: user, exit_ip: exit }));
    }
    if (from === undefined || host === undefined || port === undefined) {
      const missing = { '--from <ip>': from, '--port <port>': port, '--host <host>': host };
      const [first] = Object.entries(missing).find(([, value]) => value === undefined) ?? [];
      throw new UsageFault(`required option '${first}' not specified`);
    }
    if ((user === undefined) !== (options.token === undefined)) {
      throw new UsageFault('--user, --token: expected both, or neither');
    }
    const token = options.token === '-' ? readInput('-').trim() : options.token;
    const usualPort = method === 'CONNECT' ? 443 : 80;
    const answer = await askExplain(state_dir, {
      ...{ from, port, method, host },
      destination_port: options['destination-port'] ?? usualPort,
      ...(user === undefined ? {} : { user }),
      ...(token === undefined ? {} : { token }),
    });
    return showAnswer(answer);
  },
});

const showAnswer = (answer: Answer): Shown =>
  record(forOperators(answer), [
    ...['verdict', 'status', 'reason', 'message', 'rule', 'account', 'user'],
    ['exit', 'exit_ip'],
    'dial',
    ['at revision', 'revision'],
  ]);

function port(text: string): number {
  const number = Number(text);
  if (/^\d{1,5}$/.test(text) && number >= 1 && number <= 65_535) return number;
  throw invalid('a port', text, '1 to 65535');
}

// ---- doctor ---------------------------------------------------------------------------------

/** A host that Debian machines connect to anyway. */
const usualOutbound = 'deb.debian.org';

const doctor = command({
  name: 'doctor',
  reportsSettings: true,
  summary: 'check this machine before or after joining; each problem comes with its fix',
  arguments: { url: { read: String, optional: true } },
  options: {
    outbound: text(
      `host to try on ports 80 and 443; default: ${usualOutbound}; none: no host`,
      '<host>',
    ),
  },
  run: async ({ arguments: { url }, options: { outbound = usualOutbound } }, env) => {
    const options = { url, outbound: outbound === 'none' ? undefined : outbound };
    const { examine } = await import('./doctor/doctor.ts');
    const value = await examine(env, options);
    const parts = [findingsPart(value.findings, process.stdout.isTTY)];
    return { value, parts, code: value.state === 'fault' ? 1 : 0 };
  },
});

// ---- guard ----------------------------------------------------------------------------------

const guard: Noun<Environment> = {
  noun: 'guard',
  summary: 'the rules in the kernel that keep exit addresses from private destinations',
  commands: [
    command({
      name: 'guard show',
      summary: 'print the rules for the policy on disk, as input for nft',
      run: async (_given, env) => {
        const rules = firewallRules(await readGuard(readConfig(env)));
        return { value: rules, parts: [{ text: rules }] };
      },
    }),
    command({
      name: 'guard apply',
      summary: 'apply the rules',
      run: async (_given, env) => {
        const options = await readGuard(readConfig(env));
        await applyFirewall(options);
        const { exit_ips } = options;
        return done(`The guard is in force for ${exit_ips.length} exit addresses.`, exit_ips);
      },
    }),
    command({
      name: 'guard remove',
      summary: 'remove the rules; with EXITWARD_AGENT_GUARD=nftables the agent adds them again',
      run: async () => {
        await removeFirewall();
        return done('The guard is removed.', null);
      },
    }),
  ],
};

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

// ---- the program ----------------------------------------------------------------------------

/** Every command of exitward-agent. */
export function exitwardAgent(env: Environment): Program<Environment> {
  return {
    name: 'exitward-agent',
    summary: 'The node agent: makes a proxy do what the control plane says.',
    version,
    groups: {
      'The node': [join, run],
      'Look at it': [status, explain, doctor],
      'Its machine': [guard, completionOf('exitward-agent')],
    },
    examples: [
      'exitward-agent doctor https://api.example.com',
      'exitward-agent explain --from 203.0.113.7 --port 10001 --host www.example.com',
    ],
    notes: `
Settings are environment variables, EXITWARD_AGENT_…; all are in docs/configuration.md.
Off a terminal, output is tab-separated with plain numbers; --json prints it all for programs.
`,
    unknownSettings,
    open: () => env,
    linesOf: (message, error) =>
      startFaults(env, error instanceof SettingsFault ? message.split('\n') : [message]),
  };
}

/** Runs one command line and returns the exit code: 0 done, 1 failed, 2 not understood. */
export function main(words: readonly string[], env: Environment): Promise<number> {
  return runProgram(exitwardAgent(env), words);
}
