// exw refusals: which connections of the account were refused lately, or those from this address.
import { type Column, type Shown, table } from '../../../kit/src/cli/output.ts';
import { command } from './command.ts';
import { asPerson, personNotes, personOptions } from './person.ts';
import { address } from './values.ts';

const columns: Column[] = [
  ['minute', 'at', 'time'],
  'address',
  'reason',
  ['number', 'count'],
  'user',
  'server',
  ['port', 'port', 'detail'],
  ['service', 'service', 'detail'],
];

export const refusals = command({
  name: 'refusals',
  list: 'once',
  summary: 'list connections that were refused lately, the newest first',
  options: {
    ...personOptions,
    here: {
      summary: 'those from the address that you call from, also where they name no user',
    },
    of: { filter: true, summary: 'only those that name this user', value: '<name>', read: String },
    address: {
      filter: true,
      summary: 'only those from this address',
      value: '<ip>',
      read: address,
    },
    server: { filter: true, summary: 'only those of this server', value: '<name>', read: String },
    reason: {
      filter: true,
      summary: 'only with this reason: unknown_address, expired_token',
      value: '<word>',
      read: String,
    },
  },
  notes: `${personNotes}\nWithout the admin flag you see those that name you.`,
  run: async (given, session): Promise<Shown> => {
    const { here, of: user, address, server, reason } = given.options;
    const own_address = here ? 'true' : undefined;
    const wanted = Object.entries({ user, address, server, reason, own_address, limit: '1000' });
    const query = new URLSearchParams(
      wanted.filter((field): field is [string, string] => field[1] !== undefined),
    );
    const rows = await asPerson(session, given.options, (person) =>
      person.send<object[]>('GET', `/refusals?${query}`),
    );
    return table(rows, columns, { of: 'refusals' });
  },
});
