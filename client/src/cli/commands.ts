// The program exw: the table of commands from which parsing, help, completion and the manual come.

import type { Program } from '../../../kit/src/cli/command.ts';
import { completionOf } from '../../../kit/src/cli/completion.ts';
import { RequestFailure } from '../../../kit/src/cli/failures.ts';
import { isProxyFault } from '../../../kit/src/cli/https_proxy.ts';
import { timeUnits } from '../../../kit/src/cli/values.ts';
import { ConnectionError, ExitwardError } from '../errors.ts';
import { contract, login, logout, servers, tokenCreate, users, whoami } from './account.ts';
import { authlistCommands } from './authlist.ts';
import { askService } from './completion.ts';
import { connections, endConnections } from './connections.ts';
import { dnsCommands } from './dns.ts';
import { doctor } from './doctor.ts';
import { exits } from './exits.ts';
import { refusals } from './refusals.ts';
import { run } from './run.ts';
import { Session, sessionOptions } from './session.ts';
import { status } from './status.ts';
import type { Environment } from './stored_login.ts';
import { vpnCommands } from './vpn.ts';

const notes = `
EXW_URL          service URL
EXW_VARIANT      API variant: current or earlier
EXW_TOKEN_FILE   file with the API token
EXW_TOKEN        the API token itself, for CI systems that store secrets in variables
These variables override the stored login.
Times: +8h, +30d, 2027-01-31, 2027-01-31T12:00Z or epoch seconds.
Units of times: ${timeUnits}.
When the output isn't a terminal, lists are tab-separated, with plain numbers and no header.
`;

const groups: Program<Session>['groups'] = {
  Login: [login, logout, whoami],
  Account: [
    ...[status, contract, servers, exits, users],
    ...[connections, endConnections, refusals],
  ],
  Access: [...authlistCommands, tokenCreate],
  'Custom DNS': dnsCommands,
  VPN: vpnCommands,
  Proxy: [run, doctor],
  Shell: [completionOf('exw')],
};

/** Every command of exw. */
export function exw(env: Environment, version = ''): Program<Session> {
  let session: Session | undefined;
  return {
    name: 'exw',
    summary: "The account holder's command line.",
    version,
    groups,
    options: sessionOptions,
    examples: [
      'exw login --url https://api.example.com',
      'exw run --user alice -- curl https://www.example.com/',
      'exw authlist add 203.0.113.7 --user alice --expiry +30d',
    ],
    notes,
    unknownSettings: (session) => session.unknownSettings,
    open: (options) => {
      session = new Session(options as ConstructorParameters<typeof Session>[0], env);
      return session;
    },
    close: (session) => session.end(),
    requestFailureOf,
    ask: (words, onAway) => askService(words, env, onAway),
    linesOf: (message, error) => [
      hasNoResponse(error) && session ? `${message}. ${session.wayInWords()}` : message,
      ...(error instanceof ExitwardError && error.mayHaveActed
        ? ['The change may have been saved. Check before you try again.']
        : []),
    ],
  };
}

/** /v0 names the field only in the message. */
const requestFailureOf = (error: unknown) =>
  error instanceof ExitwardError && error.status !== undefined && !error.mayHaveActed
    ? new RequestFailure(error.status, error)
    : undefined;

/** Whether there was no response (a proxy error is named in the message). */
const hasNoResponse = (error: unknown) =>
  error instanceof ConnectionError && !isProxyFault((error.cause as Error | undefined)?.cause);
