// exw refusals: recently refused connections of the account, or from this address.
import { fieldsIn, queryOf } from '../../../kit/src/cli/fields.ts';
import type { Options } from '../../../kit/src/cli/options.ts';
import { type Column, newest, type Shown } from '../../../kit/src/cli/output.ts';
import { count } from '../../../kit/src/cli/values.ts';
import { command } from './command.ts';
import { asPerson, personNotes, personOptions } from './person.ts';
import { address, past } from './values.ts';

const columns: Column[] = [
  ['minute', 'at', 'time'],
  'address',
  'reason',
  ['number', 'count'],
  'user',
  'server',
  ['fixed', 'is_fixed', 'detail'],
  ['listed_for', 'listed_for', 'detail'],
  ['port', 'port', 'detail'],
  ['service', 'service', 'detail'],
];

const options = {
  ...personOptions,
  here: {
    summary: 'refusals from your own address, with or without a user',
    field: 'own_address',
  },
  of: {
    ...{ filter: true, summary: 'only refusals with this user', field: 'user' },
    ...{ value: '<name>', read: String },
  },
  address: {
    ...{ filter: true, summary: 'only refusals from this address', field: 'address' },
    ...{ value: '<ip>', read: address },
  },
  server: {
    ...{ filter: true, summary: 'only refusals on this server', field: 'server' },
    ...{ value: '<name>', read: String },
  },
  reason: {
    ...{
      filter: true,
      summary: 'only refusals with this reason: unknown_address, expired_token, …',
    },
    ...{ field: 'reason', value: '<word>', read: String },
  },
  since: {
    ...{
      filter: true,
      summary: 'only at or after this time, such as 2027-01-31, or 2h for two hours ago',
      field: 'since',
    },
    ...{ value: '<time>', read: past },
  },
  until: {
    ...{ filter: true, summary: 'only before this time', field: 'until' },
    ...{ value: '<time>', read: past },
  },
  limit: {
    ...{ summary: 'maximum number (default: 1000)', field: 'limit' },
    ...{ value: '<count>', read: count },
  },
} as const satisfies Options;

export const refusals = command({
  name: 'refusals',
  list: true,
  summary: 'list recently refused connections, newest first',
  options,
  notes: `${personNotes}\nWithout the admin flag, you see only refusals with your username.`,
  run: async (given, session): Promise<Shown> => {
    const { limit = 1000 } = given.options;
    const query = queryOf({ ...fieldsIn(options, given.options), limit: Math.min(limit, 1000) });
    const rows = await asPerson(session, given.options, (person) =>
      person.list<object>(`/refusals${query}`, limit),
    );
    return newest(rows, limit, columns, { noun: 'refusals' });
  },
});
