// exitward refusal …: recently refused connections.
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

export const refusalNoun = nounOf('refusal', 'recently refused connections', [
  {
    usage: 'list',
    list: true,
    summary: 'list refused connections per minute, newest first',
    filters: [
      ['--account <account>', 'only refusals of this account', 'account'],
      ['--user <user>', 'only refusals with this user of the account', 'user'],
      ['--address <ip>', 'only refusals from this address', 'address'],
      ['--server <server>', 'only refusals on this server', 'server'],
      ['--node <id>', 'only refusals on this node', 'node', nodeId],
      [
        '--reason <word>',
        'only refusals with this reason: unknown_address, expired_token',
        'reason',
      ],
      [
        '--since <time>',
        'only at or after this time, such as 2027-01-31, or 2h for two hours ago',
        'since',
        past,
      ],
      ['--until <time>', 'only before this time', 'until', past],
    ],
    options: [['--limit <count>', 'maximum number (default: 100)', 'limit', count]],
    examples: [
      'exitward refusal list --address 203.0.113.7',
      'exitward refusal list --account acme --since 2h',
    ],
    run: async (given, api) => {
      const limit = (given.option('limit') as number | undefined) ?? 100;
      const query = new URLSearchParams(given.query());
      query.set('limit', String(Math.min(limit, 1000)));
      const rows = await api.list<Row>(`/refusals?${query}`, limit);
      return newest(rows, limit, columns, { noun: 'refusals' });
    },
  },
]);
