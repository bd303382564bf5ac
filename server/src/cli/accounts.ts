// exitward account …, exitward undo …
import type { Choice, Noun, Verb } from './command.ts';
import { type Column, done, record, table } from './output.ts';
import { lifetime, size, time, whole, yesNo } from './values.ts';

type Row = Record<string, unknown>;

const listed: Column[] = [
  ['name', 'name'],
  ['plan', 'plan'],
  ['usage', 'period.usage', 'bytes'],
  ['limit', 'limit_bytes', 'bytes'],
  ['over', 'over_limit'],
  ['suspended', 'suspended'],
  ['expiry', 'expiry', 'time'],
];
const wholeRecord: Column[] = [
  ['name', 'name'],
  ['plan', 'plan'],
  ['start', 'start', 'time'],
  ['expiry', 'expiry', 'time'],
  ['suspended', 'suspended'],
  ['period from', 'period.start', 'time'],
  ['period to', 'period.end', 'time'],
  ['usage', 'period.usage', 'bytes'],
  ['limit', 'limit_bytes', 'bytes'],
  ['over limit', 'over_limit'],
  ['on limit', 'on_limit'],
  ['detailed billing', 'detailed_billing'],
  ['port scheme', 'port_scheme'],
  ['token lifetime', 'token_lifetime_seconds'],
  ['created', 'created_at', 'time'],
];

/** The terms of a contract; `required` on creation. */
function terms(required: boolean): Choice[] {
  return [
    { flags: '--plan <plan>', description: 'plan name', field: 'plan', required },
    {
      flags: '--expiry <time>',
      description: 'when the contract ends',
      parse: time,
      field: 'expiry',
      required,
    },
    {
      flags: '--limit <size>',
      description: 'bytes in a billing period',
      parse: size,
      field: 'limit_bytes',
      required,
    },
    {
      flags: '--start <time>',
      description: 'contract start; now when a new one has none',
      parse: time,
      field: 'start',
    },
    {
      flags: '--detailed-billing <yes|no>',
      description: 'limits of single servers count',
      parse: yesNo,
      field: 'detailed_billing',
    },
    {
      flags: '--on-limit <refuse|allow>',
      description: 'what nodes do over the limit',
      field: 'on_limit',
    },
    { flags: '--port-scheme <name>', description: 'ports of the account', field: 'port_scheme' },
    {
      flags: '--token-lifetime <lifetime>',
      description: 'usual lifetime of proxy access tokens',
      parse: lifetime,
      field: 'token_lifetime_seconds',
    },
  ];
}

export const accountNoun: Noun = {
  name: 'account',
  summary: 'accounts and their contracts',
  verbs: [
    {
      usage: 'list',
      summary: 'list all accounts',
      run: async (_given, api) => table(await api.list<Row>('/accounts?limit=1000'), listed),
    },
    {
      usage: 'show <account>',
      summary: 'show one account',
      run: async (given, api) =>
        record(await api.get<Row>(`/accounts/${given.part('account')}`), wholeRecord),
    },
    {
      usage: 'create <name>',
      summary: 'create an account; prints its API token',
      options: terms(true),
      run: async (given, api) => {
        const value = await api.post<Row>('/accounts', {
          name: given.word('name'),
          ...given.fields,
        });
        const columns: Column[] = [
          ['account', 'account.name'],
          ['api token', 'api_token'],
        ];
        return record(value, columns, 'The account was created.');
      },
    },
    {
      usage: 'change <account>',
      summary: 'change the contract of an account',
      options: terms(false),
      run: async (given, api) => {
        const value = await api.patch<Row>(`/accounts/${given.part('account')}`, given.fields);
        return record(value, wholeRecord, 'The contract was changed.');
      },
    },
    {
      usage: 'suspend <account>',
      summary: 'suspend the contract: nodes refuse its connections, the API takes no changes',
      run: async (given, api) => {
        const value = await api.patch<Row>(`/accounts/${given.part('account')}`, {
          suspended: true,
        });
        return done(`${given.word('account')} is suspended.`, value);
      },
    },
    {
      usage: 'resume <account>',
      summary: 'lift a suspension',
      run: async (given, api) => {
        const value = await api.patch<Row>(`/accounts/${given.part('account')}`, {
          suspended: false,
        });
        return done(`${given.word('account')} is not suspended any more.`, value);
      },
    },
  ],
};

/** The two lists of which a "remove all" can be undone. */
const undoable = (list: 'authlist' | 'overrides'): Verb => ({
  usage: `${list} <account> <removal>`,
  summary: `put back what a removal of all ${list} entries took away`,
  run: async (given, api) => {
    const body = { removal_id: given.parsed('removal', whole) };
    const value = await api.post<Row>(`/accounts/${given.part('account')}/${list}/restore`, body);
    return record(value, [
      ['restored', 'restored'],
      ['left out', 'left_out'],
    ]);
  },
});

export const undoNoun: Noun = {
  name: 'undo',
  summary: 'undo a "remove all" of an account, for seven days',
  verbs: [
    {
      usage: 'list <account>',
      summary: 'list what can be undone',
      run: async (given, api) =>
        table(await api.get<Row[]>(`/accounts/${given.part('account')}/removals`), [
          ['removal', 'removal_id'],
          ['list', 'list'],
          ['entries', 'entries'],
          ['at', 'at', 'time'],
        ]),
    },
    undoable('authlist'),
    undoable('overrides'),
  ],
};
