// The command line `exitward`: nouns and verbs over the /admin API, and commands that run on this
// machine.

import type { Program } from '../../../kit/src/cli/command.ts';
import { completionOf } from '../../../kit/src/cli/completion.ts';
import { useHttpsProxy } from '../../../kit/src/cli/https_proxy.ts';
import { runProgram } from '../../../kit/src/cli/program.ts';
import { timeUnits } from '../../../kit/src/cli/values.ts';
import type { Environment } from '../../../kit/src/settings.ts';
import { SettingsFault } from '../../../kit/src/settings.ts';
import { unknownSettings } from '../config.ts';
import { version } from '../values/version.ts';
import { accountNoun, undoNoun } from './accounts.ts';
import { applyVerb } from './apply.ts';
import { commandOf } from './command.ts';
import { namesFromServer } from './completion.ts';
import { connectionNoun } from './connections.ts';
import { contractNoun, portSchemeNoun } from './contracts.ts';
import { doctor } from './doctor.ts';
import { explainVerb } from './explain.ts';
import { geoNoun } from './geo.ts';
import { heldUsageNoun } from './held_usage.ts';
import { inventoryNoun } from './inventory.ts';
import { keysNoun } from './keys.ts';
import { authlistNoun, overrideNoun } from './lists.ts';
import { backup, migrate, restore, serve, verifyBackup } from './local.ts';
import { auditVerb, historyVerb, maintenanceNoun, statusVerb, usageVerb } from './network.ts';
import { nodeNoun } from './nodes.ts';
import { operatorTokenNoun } from './operator_tokens.ts';
import { refusalNoun } from './refusals.ts';
import { exitNoun, serverNoun } from './servers.ts';
import { tokenNoun } from './tokens.ts';
import { userNoun } from './users.ts';
import { lifetimeUnits } from './values.ts';

/** The commands as help groups them: verbs and nouns of the API, and commands of this machine. */
const groups: Program<Environment>['groups'] = {
  Overview: [statusVerb, usageVerb, historyVerb, auditVerb, explainVerb].map((verb) =>
    commandOf(verb),
  ),
  Accounts: [accountNoun, contractNoun, userNoun, tokenNoun],
  'Lists of addresses': [authlistNoun, overrideNoun, undoNoun],
  Declaration: [commandOf(applyVerb)],
  'Servers and nodes': [
    serverNoun,
    exitNoun,
    inventoryNoun,
    nodeNoun,
    connectionNoun,
    refusalNoun,
    heldUsageNoun,
    portSchemeNoun,
    geoNoun,
  ],
  Operation: [operatorTokenNoun, maintenanceNoun],
  'On this machine': [
    ...[serve, migrate, backup, verifyBackup, restore],
    keysNoun,
    doctor,
    completionOf('exitward'),
  ],
};

const notes = `
Commands talk to a running server:
  EXITWARD_ADMIN_URL         URL of the operator API (default: http://127.0.0.1:8081)
  EXITWARD_ADMIN_INSECURE    yes: allow plain http to another machine
  EXITWARD_ADMIN_TOKEN       operator token, or
  EXITWARD_ADMIN_TOKEN_FILE  file with it (default: admin-token in the data folder)
serve, migrate, backup, restore, keys and doctor work on this machine with the server's settings.

Sizes: 500GB, 1TiB or bytes. Times: epoch seconds, 2027-01-31, 2027-01-31T12:00Z or +30d, +1y; in the past, 2h for two hours ago.
Units of times: ${timeUnits}.
When the output isn't a terminal, lists are tab-separated with plain numbers; --json prints the response of the server.
`;

/** Every command of exitward. */
export function exitward(env: Environment): Program<Environment> {
  return {
    name: 'exitward',
    summary: 'The control plane for proxy and VPN networks.',
    version,
    groups,
    examples: [
      'exitward account create acme --plan small --expiry +1y --limit 500GB',
      'exitward node invite fra1',
      'exitward usage --account acme --by server',
    ],
    notes,
    units: { '<lifetime>': lifetimeUnits },
    unknownSettings,
    open: () => env,
    ask: (_words, onAway) => namesFromServer(env, onAway),
    linesOf: (message, error) => (error instanceof SettingsFault ? message.split('\n') : [message]),
  };
}

/** Runs one command line and returns the exit code: 0 done, 1 failed, 2 not understood. */
export async function main(words: readonly string[], env: Environment): Promise<number> {
  await useHttpsProxy(env);
  return runProgram(exitward(env), words);
}
