// exitward token …: the API tokens of an account.
import type { Noun } from './command.ts';
import { type Column, done, record, table } from './output.ts';
import { time } from './values.ts';

type Row = Record<string, unknown>;

const columns: Column[] = [
  ['id', 'id'],
  ['name', 'name'],
  ['read only', 'read_only'],
  ['expiry', 'expiry', 'time'],
  ['viewable', 'viewable'],
  ['created', 'created_at', 'time'],
  ['last used', 'last_used_at', 'time'],
];

export const tokenNoun: Noun = {
  name: 'token',
  summary: 'API tokens of an account',
  verbs: [
    {
      usage: 'list <account>',
      summary: 'list the API tokens of an account',
      run: async (given, api) =>
        table(await api.get<Row[]>(`/accounts/${given.part('account')}/tokens`), columns),
    },
    {
      usage: 'create <account> <name>',
      summary: 'create an API token and print it',
      options: [
        { flags: '--read-only', description: 'the token only reads', field: 'read_only' },
        {
          flags: '--expiry <time>',
          description: 'when it ends; never when omitted',
          parse: time,
          field: 'expiry',
        },
      ],
      run: async (given, api) => {
        const body = { name: given.word('name'), ...given.fields };
        const value = await api.post<Row>(`/accounts/${given.part('account')}/tokens`, body);
        return record(value, [
          ['id', 'id'],
          ['name', 'name'],
          ['api token', 'api_token'],
        ]);
      },
    },
    {
      usage: 'view <account> <id>',
      summary: 'print an API token; the audit log keeps who looked',
      run: async (given, api) => {
        const path = `/accounts/${given.part('account')}/tokens/${given.part('id')}/view`;
        const value = await api.post<{ api_token: string }>(path);
        return { value, parts: [{ text: `${value.api_token}\n` }] };
      },
    },
    {
      usage: 'revoke <account> <id>',
      summary: 'revoke an API token',
      question: (given) =>
        `This revokes API token ${given.word('id')} of ${given.word('account')}: what uses it gets 401 at once.`,
      run: async (given, api) => {
        await api.delete(`/accounts/${given.part('account')}/tokens/${given.part('id')}`);
        return done(`API token ${given.word('id')} is revoked.`, { revoked: given.word('id') });
      },
    },
  ],
};
