// exitward held-usage …: usage reports above what a machine can carry, for an operator to accept or
// discard.

import { type Column, record, table } from '../../../kit/src/cli/output.ts';
import { removeAt } from './actions.ts';
import type { Row } from './columns.ts';
import { nounOf } from './command.ts';

interface Sum {
  account: string;
  bytes: number;
}

const heldColumns: Column[] = [
  'id',
  'node_id',
  'node',
  'server',
  ['received', 'received_at', 'past'],
  ['bytes', 'bytes', 'bytes'],
  ['plausible', 'plausible_bytes', 'bytes'],
  ['from', 'oldest_at', 'time'],
  ['to', 'newest_at', 'time'],
  ['accounts', 'account_count'],
  ['most of', 'shares', 'list'],
];

export const heldUsageNoun = nounOf('held-usage', 'usage reports above what a node can carry', [
  {
    usage: 'list',
    list: true,
    summary: 'list held batches, and the accounts that they would bill most',
    run: async (_given, api) => {
      const value = await api.list<Row & { accounts: Sum[] }>('/held_usage');
      const rows = value.map((batch) => ({
        ...batch,
        shares: batch.accounts.map(({ account, bytes }) => `${account}:${bytes}`),
      }));
      const shown = table(rows, heldColumns, { noun: 'held batches' });
      return { ...shown, value };
    },
  },
  {
    usage: 'accept <id>',
    summary: 'accept a held batch: its usage is billed',
    question: 'This bills the usage of batch <id> to its accounts; limits act at once.',
    run: async (given, api) =>
      record(
        await api.post(given.path('/held_usage/<id>/accept')),
        [['counted', 'counted_bytes', 'bytes']],
        given.text('Batch <id> is counted.'),
      ),
  },
  {
    usage: 'discard <id>',
    summary: 'discard a held batch: its usage is never billed',
    question: 'This discards batch <id>: its usage is never billed.',
    run: removeAt('/held_usage/<id>', 'Batch <id> is discarded.', { discarded: '<id>' }),
  },
]);
