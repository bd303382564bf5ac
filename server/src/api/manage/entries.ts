// …/entries: finds a few entries of the authlist and of custom DNS by a part of their text.
import { Type } from 'typebox';
import { entrySlices } from '../../authlist/authlist.ts';
import { Integer, Named, OneOf, Strict, Text } from '../../http/fields.ts';
import { overrideSlices } from '../../overrides/overrides.ts';
import { turnOf } from '../long_reads.ts';
import type { Mount } from './mount.ts';

const Entry = Named('FoundEntry', {
  list: OneOf(['authlist', 'overrides'], 'Which list it is on.'),
  id: Integer('Id of the entry on this account.', 1),
  name: Type.String({ description: 'The listed address, or the hostname that is overridden.' }),
  user: Type.Optional(Type.String({ description: 'Authlist: whom its connections count for.' })),
  server: Type.Optional(Type.String({ description: 'Custom DNS: the server.' })),
  ip: Type.Optional(Type.String({ description: 'Custom DNS: where the hostname leads to.' })),
});
const EntryQuery = Strict({
  search: Text('A part of an address or hostname; a whole address in any spelling.', 253),
});

const maxEntries = 10;
/** Of 500 entries each: in longer lists, later entries are only found on the list's own page. */
const maxSlices = 40;

/** The first entries of the slices; each slice waits for `turn`. */
async function firstOf<E>(
  slices: AsyncIterable<{ entries: readonly E[] }>,
  turn: () => Promise<void>,
): Promise<E[]> {
  const matches: E[] = [];
  let slicesLeft = maxSlices;
  for await (const { entries } of slices) {
    matches.push(...entries);
    if (matches.length >= maxEntries || --slicesLeft === 0) break;
    await turn();
  }
  return matches.slice(0, maxEntries);
}

export function entryRoutes({ ctx, routesOf }: Mount): void {
  routesOf('lists')('GET /entries', {
    may: ['admin', 'proxy'],
    summary: 'Find entries of the authlist and of custom DNS',
    description: `Up to ${maxEntries} of each list that begin with the text or hold it, of the first ${maxSlices * 500} entries. Without the admin flag: of one’s own authlist entries alone.`,
    query: EntryQuery,
    answer: Type.Array(Entry),
    handle: async ({ scope: { account_id, only_user }, query: { search } }) => {
      const turn = () => turnOf(account_id);
      const now = ctx.clock.now();
      const users = only_user && [only_user.name];
      const listed = entrySlices(ctx.db, account_id, { ip: search, users }, now);
      const authlist = await firstOf(listed, turn);
      const overridden = overrideSlices(ctx.db, account_id, { part: search }, now);
      const overrides = only_user ? [] : await firstOf(overridden, turn);
      return [
        ...authlist.map(({ id, ip, user }) => ({ list: 'authlist', id, name: ip, user })),
        ...overrides.map(({ id, hostname, server, ip }) => {
          return { list: 'overrides', id, name: hostname, server, ip };
        }),
      ];
    },
  });
}
