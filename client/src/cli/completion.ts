// The names that a shell completes for exw, from the service of the login.
import { statSync } from 'node:fs';
import type { Ask } from '../../../kit/src/cli/command.ts';
import { settingText } from '../../../kit/src/environment.ts';
import type { Exitward } from '../client.ts';
import type { CallOptions } from '../options.ts';
import { Session } from './session.ts';
import type { Environment } from './stored_login.ts';

const patienceSeconds = 1;

/**
 * Asks the service of the login, within a second. If it is offline or slow, or the login fails,
 * there are no words and `onAway` is called.
 */
export function askService(words: readonly string[], env: Environment, onAway: () => void): Ask {
  return async (kind) => {
    const file = settingText(env, 'EXW_TOKEN_FILE');
    // Standard input is the shell's, and a pipe may never end.
    if (file && !statSync(file, { throwIfNoEntry: false })?.isFile()) return [];
    const wordAfter = (option: string) => {
      const at = words.indexOf(option);
      return at < 0 ? undefined : words[at + 1];
    };
    const options = { url: wordAfter('--url'), variant: wordAfter('--variant') };
    const flags = { insecure: words.includes('--insecure'), json: false };
    try {
      const { client } = await new Session({ ...options, ...flags }, env).account();
      return (await lists[kind]?.(client, { retries: 0, timeoutSeconds: patienceSeconds })) ?? [];
    } catch {
      onAway();
      return [];
    }
  };
}

type List = (client: Exitward, call: CallOptions) => Promise<string[]>;

/** By the kind of records that an argument or option names. */
const lists: Readonly<Record<string, List>> = {
  servers: async (client, call) =>
    (await client.contract.servers.list({}, call)).map(({ server }) => server),
  exits: async (client, call) =>
    (await client.contract.servers.list({}, call)).flatMap(({ ips }) => ips.map(({ ip }) => ip)),
  // Tokens and entries are for users of the proxies alone.
  users: async (client, call) =>
    (await client.users.list(call)).filter(({ flags }) => flags.proxy).map(({ name }) => name),
  addresses: async (client, call) => (await client.authlist.list({}, call)).map(({ ip }) => ip),
  entries: async (client, call) =>
    (await client.overrides.list({}, call)).map(({ id }) => String(id)),
};
