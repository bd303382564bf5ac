// exitward explain: asks a node what it would do with a connection, and by which rule.
import { readFileSync } from 'node:fs';
import { Failure, UsageFault, type Verb } from './command.ts';
import type { Given } from './given.ts';
import { record } from './output.ts';
import { whole } from './values.ts';

type Row = Record<string, unknown>;

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
  options: [
    { flags: '--server <server>', description: 'whose nodes are asked', required: true },
    {
      flags: '--from <ip>',
      description: 'address that the connection comes from',
      field: 'from',
      required: true,
    },
    {
      flags: '--port <port>',
      description: 'port of the proxy that it comes in on',
      parse: whole,
      field: 'port',
      required: true,
    },
    {
      flags: '--host <host>',
      description: 'hostname or address that it asks for',
      field: 'host',
      required: true,
    },
    {
      flags: '--destination-port <port>',
      description: 'port that it asks for; 443 for CONNECT, 80 otherwise',
      parse: whole,
      field: 'destination_port',
    },
    { flags: '--method <method>', description: 'CONNECT when omitted', field: 'method' },
    { flags: '--user <user>', description: 'username that it presents', field: 'user' },
    {
      flags: '--token <token>',
      description:
        'proxy access token that it presents; - reads it from standard input, where no other user of this machine sees it',
    },
    {
      flags: '--token-file <file>',
      description: 'a file that holds the token; - for standard input',
    },
  ],
  run: async (given, api) => {
    const token = tokenOf(given);
    const value = await api.post<Row>(
      `/servers/${encodeURIComponent(String(given.option('server')))}/explain`,
      { ...given.fields, ...(token === undefined ? {} : { token }) },
    );
    return record(value, [
      ['verdict', 'verdict'],
      ['status', 'status'],
      ['reason', 'reason'],
      ['message', 'message'],
      ['rule', 'rule'],
      ['account', 'account'],
      ['user', 'user'],
      ['exit', 'exit_ip'],
      ['dial', 'dial'],
      ['answered by', 'node'],
      ['at revision', 'revision'],
    ]);
  },
};
