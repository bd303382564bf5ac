// exw login, logout, whoami, contract, servers, users, token create: the account and its records.

import { UsageFault } from '../../../kit/src/cli/failures.ts';
import { done, record, table } from '../../../kit/src/cli/output.ts';
import { timeInWords } from '../../../kit/src/cli/values.ts';
import { command } from './command.ts';
import { readToken } from './session.ts';
import { removeLogin, storeLogin } from './stored_login.ts';
import { now, time } from './values.ts';

export const login = command({
  name: 'login',
  summary: 'check an API token and store it with the service URL and API variant',
  options: {
    'token-file': {
      summary: 'file with the API token; - for standard input (default: prompt or standard input)',
      value: '<file>',
      read: String,
    },
  },
  notes: `On a terminal, exw asks for the token and does not show it. It stores the token in
$XDG_CONFIG_HOME/exitward/exw.json (usually ~/.config/exitward/exw.json), which only you can read.`,
  run: async ({ options }, session) => {
    // The service is checked before the token is requested, since the token is sent there.
    session.service();
    const token = await readToken(options['token-file'] ?? '-');
    const { client, url, variant } = session.accountWith({ value: token, source: 'the token' });
    const { name } = await client.contract.get();
    storeLogin(session.loginFile, { url, variant, token });
    return done(`You are logged in to ${url} as ${name}.`, { contract: name, url, variant });
  },
});

export const logout = command({
  name: 'logout',
  summary: 'remove the stored login',
  run: async (_given, session) => {
    const wasThere = removeLogin(session.loginFile);
    return done(wasThere ? 'You are logged out.' : 'You were not logged in.', { forgot: wasThere });
  },
});

export const whoami = command({
  name: 'whoami',
  summary: 'check the token, and show its account and service',
  run: async (_given, session) => {
    const { client, url, variant, source } = await session.account();
    const { name } = await client.contract.get();
    return record({ contract: name, url, variant, token_from: source }, [
      'contract',
      'url',
      'variant',
      ['token in', 'token_from'],
    ]);
  },
});

export const contract = command({
  name: 'contract',
  list: true,
  summary: 'show the contract, its servers and their usage',
  run: async (_given, session) => {
    const { client } = await session.account();
    const [value, servers] = await Promise.all([
      client.contract.get(),
      client.contract.servers.list({ detail: ['location', 'usage'] }),
    ]);
    return {
      value: { ...value, servers },
      parts: [
        {
          record: value,
          columns: [
            ['contract', 'name'],
            'plan',
            ['ends', 'expiry', 'time'],
            ['period', 'period.start', 'day'],
            ['until', 'period.end', 'day'],
            ['used', 'period.usage', 'bytes'],
            ['limit', 'period.limit', 'bytes'],
          ],
        },
        {
          rows: servers,
          columns: [
            'server',
            ['city', 'location.city'],
            ['country', 'location.country'],
            ['exit IPs', 'ips.length'],
            ['used', 'usage.current', 'bytes'],
            ['30 days', 'usage.last_30_days', 'bytes'],
            ['limit', 'usage.limit', 'bytes'],
          ],
          empty: noServers,
        },
      ],
    };
  },
});

/** The text for a contract without servers. */
export const noServers = {
  noun: 'servers on the contract',
  next: 'your provider adds them',
};

export const servers = command({
  name: 'servers',
  list: true,
  summary: 'list all servers of the network, on your contract or not',
  run: async (_given, session) => {
    const { client } = await session.account();
    return table(
      await client.servers.list({ detail: ['location'] }),
      [
        'hostname',
        ['city', 'location.city'],
        ['country', 'location.country'],
        ['exit IPs', 'ip_count'],
        ['services', 'services', 'list'],
      ],
      { noun: 'servers', next: 'your provider adds them' },
    );
  },
});

export const users = command({
  name: 'users',
  list: true,
  summary: 'list the active users (current variant)',
  run: async (_given, session) => {
    const { client } = await session.account();
    return table(
      await client.users.list(),
      [
        'id',
        'name',
        'display_name',
        ['proxy', 'flags.proxy'],
        ['billing', 'flags.billing'],
        ['admin', 'flags.admin'],
        'token_version',
      ],
      { noun: 'active users', next: 'your administrator adds them in the console' },
    );
  },
});

/** A lifetime that ends then. Errors: a usage fault for a time that has passed. */
export function lifetimeUntil(expiry: number): number {
  const seconds = expiry - now();
  if (seconds > 0) return seconds;
  throw new UsageFault(`--expiry: ${timeInWords(expiry)} has passed`);
}

/**
 * When a token ends, in epoch seconds. Undefined: it never ends, or it is not one of Exitward's,
 * whose payload has the end as its last value (docs/node.md).
 */
function expiryIn(token: string): number | undefined {
  const [, payload = ''] = /^ewt_([\w-]+)\./.exec(token) ?? [];
  try {
    const end = (JSON.parse(Buffer.from(payload, 'base64url').toString()) as unknown[]).at(-1);
    return typeof end === 'number' && end > 0 ? end : undefined;
  } catch {
    return undefined;
  }
}

export const tokenCreate = command({
  name: 'token create',
  summary: 'create a proxy access token and print it (current variant)',
  options: {
    user: {
      completes: 'users',
      summary: 'proxy user that the token is for',
      value: '<name>',
      read: String,
      required: true,
    },
    expiry: {
      summary:
        "when the token expires (default: after the contract's token lifetime, usually a year)",
      field: 'expire',
      value: '<time>',
      read: time,
    },
  },
  run: async ({ options: { user, expiry } }, session) => {
    const { client } = await session.account();
    const lifetime = expiry === undefined ? {} : { expire: lifetimeUntil(expiry) };
    const value = await client.users.createToken({ user, ...lifetime });
    const end = expiry ?? expiryIn(value.token);
    const until = end === undefined ? '' : `, valid until ${timeInWords(end)}`;
    return {
      value,
      parts: [{ text: `${value.token}\n` }],
      sentence: `Proxy access token of ${user}${until}. At the proxy it is the password:`,
    };
  },
});
