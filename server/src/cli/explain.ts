// exitward explain: asks a node what it would do with a connection, and by which rule.
import { readFileSync } from 'node:fs';
import { Failure, UsageFault, type Verb } from './command.ts';
import type { Given } from './given.ts';
import { record } from './output.ts';
import { whole } from './values.ts';

/** The token, from where the options say. Errors: a usage fault; a failure when the file cannot be read. */
function tokenOf(given: Given): string | undefined {
  const [text, file] = [given.option('token'), given.option('tokenFile')];
  if (text !== undefined && file !== undefined) {
    throw new UsageFault('--token, --token-file: expected one of them');
  }
  if (file === undefined && text !== '-') return text as string | undefined;
  const isStandardInput = (file ?? text) === '-';
  try {
    return readFileSync(isStandardInput ? 0 : String(file), 'utf8').trim();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const from = isStandardInput ? 'standard input' : file;
    throw new Failure(`The token cannot be read from ${from} (${code}).`);
  }
}

export const explainVerb: Verb = {
  usage: 'explain',
  summary: 'ask a node what it would do with a connection, and by which rule',
  required: [
    ['--server <server>', 'whose nodes are asked'],
    ['--from <ip>', 'address that the connection comes from', 'from'],
    ['--port <port>', 'port of the proxy that it comes in on', 'port', whole],
    ['--host <host>', 'hostname or address that it asks for', 'host'],
  ],
  options: [
    [
      '--destination-port <port>',
      'port that it asks for; 443 for CONNECT, 80 otherwise',
      'destination_port',
      whole,
    ],
    ['--method <method>', 'CONNECT when omitted', 'method'],
    ['--user <user>', 'username that it presents', 'user'],
    [
      '--token <token>',
      'proxy access token that it presents; - reads it from standard input, where no other user of this machine sees it',
    ],
    ['--token-file <file>', 'a file that holds the token; - for standard input'],
  ],
  run: async (given, api) => {
    const body = { ...given.fields, token: tokenOf(given) };
    return record(await api.post(given.path('/servers/<server>/explain'), body), [
      'verdict',
      'status',
      'reason',
      'message',
      'rule',
      'account',
      'user',
      ['exit', 'exit_ip'],
      'dial',
      ['answered by', 'node'],
      ['at revision', 'revision'],
    ]);
  },
};
