// exitward account …, exitward undo …

import { type Column, counted, done, record, type Shown } from '../../../kit/src/cli/output.ts';
import { list, secondsInWords } from '../../../kit/src/cli/values.ts';
import { jsonText } from '../../../kit/src/visible.ts';
import { changeAt, listAt, showAt } from './actions.ts';
import type { AdminApi } from './api.ts';
import { created, expiry, type Row } from './columns.ts';
import { nounOf, type Verb } from './command.ts';
import { questionOfTerms } from './cut_off.ts';
import type { Choice, Given } from './given.ts';
import { lifetime, size, time, whole, yesNo } from './values.ts';

const account = '/accounts/<account>';

const usage: Column = ['usage', 'period.usage', 'bytes'];
const limit: Column = ['limit', 'limit_bytes', 'bytes'];
const suspended: Column = ['suspended', 'suspended', 'alarm'];
const shown: Column[] = [
  'name',
  'plan',
  usage,
  limit,
  ['over', 'over_limit', 'alarm'],
  suspended,
  expiry,
];
const lifetimeInWords = (seconds: number, forPeople: boolean) =>
  forPeople ? secondsInWords(seconds) : String(seconds);
const wholeRecord: Column[] = [
  'name',
  'plan',
  ['start', 'start', 'time'],
  expiry,
  suspended,
  ['period from', 'period.start', 'day'],
  ['period to', 'period.end', 'day'],
  usage,
  limit,
  'over_limit',
  'on_limit',
  'detailed_billing',
  'port_scheme',
  ['token lifetime', 'token_lifetime_seconds', lifetimeInWords],
  created,
];

/** The terms that a new contract needs. */
const terms: Choice[] = [
  ['--plan <plan>', 'plan name', 'plan'],
  ['--expiry <time>', 'when the contract ends', 'expiry', time],
  ['--limit <size>', 'traffic limit per billing period', 'limit_bytes', size],
];
const furtherTerms: Choice[] = [
  ['--start <time>', 'when the contract starts (default for a new account: now)', 'start', time],
  [
    '--detailed-billing <yes|no>',
    'whether the limits of single servers apply',
    'detailed_billing',
    yesNo,
  ],
  ['--on-limit <refuse|allow>', 'what nodes do when the limit is reached', 'on_limit'],
  ['--port-scheme <name>', 'port scheme of the account', 'port_scheme'],
  [
    '--token-lifetime <lifetime>',
    'default lifetime of proxy access tokens',
    'token_lifetime_seconds',
    lifetime,
  ],
];

/**
 * Creates it, then adds its servers, all or none. A failure there comes after the token, which is
 * shown only once: exit code 1.
 */
async function createAccount(given: Given, api: AdminApi): Promise<Shown> {
  const shown = record(
    await api.post('/accounts', { name: given.word('name'), ...given.fields }),
    [
      ['account', 'account.name'],
      ['api token', 'api_token'],
    ],
    'The account was created.',
  );
  const servers = given.option('servers') as string[] | undefined;
  if (!servers) return shown;
  try {
    await api.post(given.path('/accounts/<name>/servers/add'), { servers });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const next = `exitward contract add ${given.word('name')} ${servers.join(' ')}`;
    const sentence = `The account was created, but without servers: ${reason} Next: ${next}`;
    return { ...shown, sentence, code: 1 };
  }
  return {
    ...shown,
    sentence: `The account was created with ${counted(servers.length, 'server')}.`,
  };
}

export const accountNoun = nounOf('account', 'accounts and their contracts', [
  {
    usage: 'list',
    list: true,
    summary: 'list all accounts',
    run: listAt('/accounts?limit=1000', shown, {
      noun: 'accounts',
      next: 'exitward account create <name>',
    }),
  },
  {
    usage: 'show <account>',
    summary: 'show one account',
    run: showAt(account, wholeRecord),
  },
  {
    usage: 'create <name>',
    summary: 'create an account and print its API token',
    required: terms,
    examples: [
      'exitward account create acme --plan small --expiry +1y --limit 500GB --servers fra1,ams1',
    ],
    options: [
      ...furtherTerms,
      ['--servers <names>', 'servers on the contract, such as fra1,ams1', undefined, list],
    ],
    run: createAccount,
  },
  {
    usage: 'change <account>',
    summary: 'change the contract of an account',
    options: [...terms, ...furtherTerms],
    question: questionOfTerms,
    run: changeAt(account, wholeRecord, 'The contract was changed.'),
  },
  {
    usage: 'export <account>',
    summary: 'print all stored data of an account as JSON, without secrets',
    run: async (given, api) => ({
      pieces: exported(given.path(account), given.word('account'), api),
    }),
  },
  {
    usage: 'suspend <account>',
    summary: 'suspend the contract: nodes refuse connections, and the API refuses changes',
    run: async (given, api) => {
      const value = await api.patch(given.path(account), { suspended: true });
      return done(given.text('<account> is suspended.'), value);
    },
  },
  {
    usage: 'resume <account>',
    summary: 'lift a suspension',
    run: async (given, api) => {
      const value = await api.patch(given.path(account), { suspended: false });
      return done(given.text('<account> is no longer suspended.'), value);
    },
  },
]);

/** The document, one record a line, read page by page: an account may have a million records. */
async function* exported(path: string, name: string, api: AdminApi): AsyncGenerator<string> {
  const whole = await api.get<Row & { start: number }>(path);
  const { now } = await api.get<{ now: number }>('/status');
  yield `{\n"format": 1,\n"exported_at": ${now},\n"account": ${jsonText(whole, 0)}`;
  for (const by of ['day', 'server', 'user']) {
    const { rows } = await api.get<{ rows: Row[] }>(`${path}/usage?by=${by}&from=${whole.start}`);
    yield `,\n"usage_by_${by}": ${jsonText(rows, 0)}`;
  }
  const lists = ['users', 'servers', 'tokens', 'authlist', 'overrides', 'removals'];
  for (const list of lists) yield* listed(list, api.pages(`${path}/${list}`));
  const audit = `/audit?limit=1000&account=${encodeURIComponent(name)}`;
  yield* listed('audit', api.pages(audit));
  yield '\n}\n';
}

async function* listed(name: string, pages: AsyncIterable<Row[]>): AsyncGenerator<string> {
  yield `,\n"${name}": [`;
  let isFirst = true;
  for await (const page of pages) {
    for (const account of page) {
      yield `${isFirst ? '' : ','}\n${jsonText(account, 0)}`;
      isFirst = false;
    }
  }
  yield ']';
}

/** The two lists whose "remove all" can be undone. */
const undoable = (list: 'authlist' | 'overrides'): Verb => ({
  usage: `${list} <account> <removal>`,
  sets: { removal: 'removal_id' },
  summary: `restore the ${list} entries of a "remove all"`,
  run: async (given, api) => {
    const body = { removal_id: given.parsed('removal', whole) };
    const value = await api.post(given.path(`${account}/${list}/restore`), body);
    return record(value, ['restored', 'left_out']);
  },
});

export const undoNoun = nounOf('undo', 'undo a "remove all" of an account within seven days', [
  {
    usage: 'list <account>',
    list: true,
    summary: 'list removals that can be undone',
    run: listAt(
      `${account}/removals`,
      [['removal', 'removal_id'], 'list', 'entries', ['at', 'at', 'past']],
      { noun: 'removals in the last seven days' },
    ),
  },
  undoable('authlist'),
  undoable('overrides'),
]);
