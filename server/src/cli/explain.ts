// exitward explain: asks a node how it would handle a connection, and why.
import { UsageFault } from '../../../kit/src/cli/failures.ts';
import { readInput } from '../../../kit/src/cli/input.ts';
import { type Column, record } from '../../../kit/src/cli/output.ts';
import type { AdminApi } from './api.ts';
import type { Row } from './columns.ts';
import type { Verb } from './command.ts';
import type { Given } from './given.ts';
import { whole } from './values.ts';

/**
 * The token, from the source that the options name. Errors: a usage fault; a failure when the file
 * cannot be read.
 */
function tokenOf(given: Given): string | undefined {
  const [text, file] = [given.option('token'), given.option('token-file')];
  if (text !== undefined && file !== undefined) {
    throw new UsageFault('--token, --token-file: expected one of them');
  }
  if (file === undefined && text !== '-') return text as string | undefined;
  return readInput(String(file ?? text)).trim();
}

const ofConnections = [
  ...['port', 'host', 'destination-port', 'method', 'check-exit', 'token', 'token-file'],
];

/** The answer of a node. Errors: a usage fault for options that cannot be combined. */
function ask(given: Given, api: AdminApi): Promise<Row> {
  const { service, exit_ip, ...connection } = given.fields;
  const { user, from } = connection;
  const others = (service === undefined ? ['exit'] : ofConnections).filter((name) =>
    given.has(name),
  );
  if (others.length > 0) {
    const names = others.map((name) => `--${name}`).join(', ');
    throw new UsageFault(`${names}: only ${service === undefined ? 'with' : 'without'} --service`);
  }
  if (service === undefined) {
    const missing = ['from', 'port', 'host'].filter((name) => !given.has(name));
    if (missing.length > 0) {
      throw new UsageFault(
        `${missing.map((name) => `--${name}`).join(', ')}: expected, or --service`,
      );
    }
    const body = { ...connection, token: tokenOf(given) };
    return api.post(given.path('/servers/<server>/explain'), body);
  }
  if (!String(user).includes('@')) {
    throw new UsageFault('--user: expected user@account, with --service');
  }
  const body = { service, login: user, exit_ip, from };
  return api.post(given.path('/servers/<server>/explain-login'), body);
}

const ofExit: Column[] = [
  ['seen through the exit', 'checked.address'],
  ['milliseconds', 'checked.milliseconds'],
  ['no way through the exit', 'checked.fault'],
];

export const explainVerb: Verb = {
  usage: 'explain',
  summary: 'ask a node how it would handle a connection, and by which rule',
  required: [['--server <server>', 'server to ask']],
  options: [
    ['--from <ip>', 'source address of the connection or VPN client', 'from'],
    ['--port <port>', 'port of the proxy', 'port', whole],
    ['--host <host>', 'requested hostname or address', 'host'],
    [
      '--service <service>',
      'test a VPN login instead: vpn-ikev2, vpn-ikev1 or vpn-l2tp; requires --user',
      'service',
    ],
    ['--exit <ip>', 'exit IP that the VPN client connects to (default: the first)', 'exit_ip'],
    [
      '--destination-port <port>',
      'requested port (default: 443 for CONNECT, otherwise 80)',
      'destination_port',
      whole,
    ],
    ['--method <method>', 'HTTP method (default: CONNECT)', 'method'],
    ['--user <user>', 'username; user@account for a VPN', 'user'],
    [
      '--token <token>',
      'proxy access token; - for standard input, hidden from other users of this machine',
    ],
    ['--check-exit', 'also send a test request through the exit', 'check_exit'],
    ['--token-file <file>', 'file with the token; - for standard input'],
  ],
  examples: [
    'exitward explain --server fra1 --from 203.0.113.7 --port 10001 --host www.example.com',
  ],
  run: async (given, api) => {
    const answer = await ask(given, api);
    return record(answer, [
      'verdict',
      'status',
      'reason',
      'message',
      'rule',
      'account',
      'user',
      ['exit', 'exit_ip'],
      'dial',
      ...(answer.checked ? ofExit : []),
      ['answered by', 'node'],
      ['at revision', 'revision'],
    ]);
  },
};
