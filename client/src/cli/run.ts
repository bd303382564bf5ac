// exw run: runs a command through the proxy, with access for as long as it runs.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { UsageFault } from '../../../kit/src/cli/failures.ts';
import { notify } from '../../../kit/src/cli/output.ts';
import { lifetimeUntil } from './account.ts';
import { requireUser, userOption } from './authlist.ts';
import { command } from './command.ts';
import { type Credentials, portOptions, selectExit, urlOf, withBasePort } from './exits.ts';
import { OwnAddress } from './own_address.ts';
import type { Account } from './session.ts';
import { exitCodeOf, PassedSignals } from './signals.ts';
import { address, now, time } from './values.ts';

const lookSeconds = 60;
/** How long the proxies may take to accept the address; then the command starts anyway. */
const waitSeconds = 5;
/** The exit codes that shells use. */
const notFound = 127;
const notExecutable = 126;
const defaultTokenSeconds = 3600;
/** This machine, which a proxy cannot reach. */
const defaultNoProxy = 'localhost,127.0.0.1,::1';
/** The exit of a trial on this machine, such as the demo: it reaches only this machine. */
const isLoopback = (ip: string) => ip === '::1' || ip.startsWith('127.');

export const run = command({
  name: 'run',
  examples: [
    'exw run --user alice -- curl https://www.example.com/',
    'exw run --server fra1 --user alice --token -- ./crawl',
  ],
  summary: 'run a command through the proxy',
  verbatim: true,
  arguments: {
    command: { summary: 'command to run, with its arguments', read: String, many: true },
  },
  options: {
    server: {
      completes: 'servers',
      summary: 'server to use (default: the first that works)',
      value: '<name>',
      read: String,
    },
    exit: { completes: 'exits', summary: 'exit IP to use', value: '<ip>', read: address },
    user: {
      ...userOption,
      summary: 'user that the traffic counts as (default: the only proxy user)',
    },
    token: {
      summary: 'use a proxy access token instead of listing your address (current variant)',
    },
    expiry: {
      summary: 'when the token expires (default: +1h)',
      value: '<time>',
      read: time,
    },
    'no-proxy': {
      summary: `hosts to reach directly; '' for none (default: ${defaultNoProxy})`,
      value: '<hosts>',
      read: String,
      mayBeBlank: true,
    },
    ...portOptions,
  },
  notes: `Sets http_proxy, https_proxy, all_proxy and no_proxy, in lowercase and uppercase. Your address is listed while the command runs and removed when it ends. A token can't be revoked: it is valid until it expires.
The exit code is that of the command.`,
  run: async ({ arguments: { command: words }, options }, session) => {
    if (options.expiry !== undefined && !options.token) {
      throw new UsageFault(
        '--expiry: expected with --token; an address is listed until the command ends',
      );
    }
    const account = await session.account();
    const { server, exit } = await selectExit(account, options);
    const portOf = await withBasePort(account, options);
    const user = await requireUser(account, options.user);
    const signals = new PassedSignals();
    const over = new AbortController();
    const ownAddress = options.token
      ? undefined
      : new OwnAddress(account.client, { user, everySeconds: lookSeconds });
    let keeping: Promise<void> | undefined;
    try {
      await ownAddress?.look(waitSeconds);
      const credentials = options.token
        ? await newCredentials(account, user, options.expiry)
        : undefined;
      if (signals.early) return exitCodeOf(signals.early);
      const url = urlOf(server, exit, portOf, credentials);
      // The command shares this stream: a file or pipe must hold only the command's own output.
      const noProxy = options['no-proxy'] ?? (isLoopback(exit.ip) ? '' : defaultNoProxy);
      if (process.stderr.isTTY) {
        const directly = noProxy === '' ? '' : ` Directly: ${noProxy.split(',').join(', ')}.`;
        notify(
          `Through ${exit.ip} of ${server.server}, as ${ownAddress?.user ?? user}.${directly}`,
        );
      }
      keeping = ownAddress
        ?.keep(over.signal)
        .catch((error: Error) => notify(`exw: ${error.message}`));
      return await runToEnd(words, proxyVariables(url, noProxy), signals);
    } finally {
      over.abort();
      await keeping;
      await ownAddress?.remove();
      signals.stop();
    }
  },
});

async function newCredentials(
  { client }: Account,
  user: string,
  expiry = now() + defaultTokenSeconds,
): Promise<Credentials> {
  const { token } = await client.users.createToken({ user, expire: lifetimeUntil(expiry) });
  return { user, token };
}

function proxyVariables(url: string, no_proxy: string): Record<string, string> {
  // All are set: variables from the environment could silently bypass the proxy for some hosts.
  const variables = { http_proxy: url, https_proxy: url, all_proxy: url, no_proxy };
  const capitals = Object.entries(variables).map(([name, value]) => [name.toUpperCase(), value]);
  return { ...variables, ...Object.fromEntries(capitals) };
}

/** Runs a command to its end and returns its exit code, as shells do. */
async function runToEnd(
  [program = '', ...words]: string[],
  variables: Record<string, string>,
  signals: PassedSignals,
): Promise<number> {
  const child = spawn(program, words, {
    stdio: 'inherit',
    env: { ...process.env, ...variables },
  });
  signals.passTo(child);
  try {
    const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null];
    return signal ? exitCodeOf(signal) : (code ?? 1);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    notify(`exw: ${program} cannot be run (${code}).`);
    return code === 'ENOENT' ? notFound : notExecutable;
  }
}
