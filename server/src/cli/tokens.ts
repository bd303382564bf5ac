// exitward token …: the API tokens of an account.

import type { Column } from '../../../kit/src/cli/output.ts';
import { createAt, listAt, removeAt } from './actions.ts';
import { created, expiry, lastUsed } from './columns.ts';
import { nounOf } from './command.ts';
import { time } from './values.ts';

const tokens = '/accounts/<account>/tokens';
const columns: Column[] = ['id', 'name', 'read_only', expiry, 'viewable', created, lastUsed];

export const tokenNoun = nounOf('token', 'API tokens of an account', [
  {
    usage: 'list <account>',
    list: true,
    summary: 'list the API tokens of an account',
    run: listAt(tokens, columns, {
      noun: 'API tokens',
      next: 'exitward token create <account> <name>',
    }),
  },
  {
    usage: 'create <account> <name>',
    summary: 'create an API token and print it',
    options: [
      ['--read-only', 'create a read-only token', 'read_only'],
      ['--expiry <time>', 'when the token expires (default: never)', 'expiry', time],
    ],
    run: createAt(tokens, ['id', 'name', 'api_token']),
  },
  {
    usage: 'view <account> <id>',
    summary: 'print an API token; the audit log records who did',
    run: async (given, api) => {
      const value = await api.post(given.path(`${tokens}/<id>/view`));
      return { value, parts: [{ text: `${value.api_token}\n` }] };
    },
  },
  {
    usage: 'revoke <account> <id>',
    summary: 'revoke an API token',
    question: 'This revokes API token <id> of <account>: programs that use it get 401 at once.',
    run: removeAt(`${tokens}/<id>`, 'API token <id> is revoked.', { revoked: '<id>' }),
  },
]);
