// exitward refusal …: which connections were refused lately.
import { type Column, newest } from '../../../kit/src/cli/output.ts';
import { count } from '../../../kit/src/cli/values.ts';
import type { Row } from './columns.ts';
import { nounOf } from './command.ts';
import { nodeId, past } from './values.ts';

const columns: Column[] = [
  ['minute', 'at', 'time'],
  'address',
  'reason',
  ['number', 'count'],
  'account',
  'user',
  'server',
  ['fixed', 'is_fixed', 'detail'],
  ['listed_for', 'listed_for', 'detail'],
  ['port', 'port', 'detail'],
  ['service', 'service', 'detail'],
  ['node', 'node', 'detail'],
  ['id', 'id', 'detail'],
];

export const refusalNoun = nounOf('refusal', 'which connections were refused lately', [
  {
    usage: 'list',
    list: true,
    summary: 'list refused connections by the minute, the newest first',
    filters: [
      ['--account <account>', 'only those that concern this account', 'account'],
      ['--user <user>', 'only those that name this user of the account', 'user'],
      ['--address <ip>', 'only those from this address', 'address'],
      ['--server <server>', 'only those of this server', 'server'],
      ['--node <id>', 'only those of this node', 'node', nodeId],
      ['--reason <word>', 'only with this reason: unknown_address, expired_token', 'reason'],
      ['--since <time>', 'only from then on: 2027-01-31, 2h or 7d ago', 'since', past],
      ['--until <time>', 'only before that: 2027-01-31, 2h or 7d ago', 'until', past],
    ],
    options: [['--limit <count>', 'how many; 100 when omitted', 'limit', count]],
    examples: [
      'exitward refusal list --address 203.0.113.7',
      'exitward refusal list --account acme --since 2h',
    ],
    run: async (given, api) => {
      const limit = (given.option('limit') as number | undefined) ?? 100;
      const query = new URLSearchParams(given.query());
      query.set('limit', String(Math.min(limit, 1000)));
      const rows = await api.list<Row>(`/refusals?${query}`, limit);
      return newest(rows, limit, columns, { of: 'refusals' });
    },
  },
]);
