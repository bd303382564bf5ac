// …/removals: entries that were removed together and can be restored.
import { Type } from 'typebox';
import { Integer, Named, OneOf, Removed, Timestamp } from '../../http/fields.ts';
import { listRemovals } from '../../lists/removals.ts';
import type { Mount } from './mount.ts';

const Removal = Named('Removal', {
  removal_id: Integer('Names it when it is undone.', 1),
  list: OneOf(['authlist', 'overrides'], 'Which list.'),
  entries: Integer('How many entries it took away.'),
  at: Timestamp('When.'),
  chosen: Type.Boolean({ description: 'Whether it took entries that were chosen, not all.' }),
});

/** A route that removes all entries of a list. */
export const removalOfAll = {
  record: true,
  summary: 'Remove all entries; it can be undone for seven days',
  answer: Removed,
};

/** A route that undoes a removal, of either list. */
export const undoOfRemoval = {
  record: true,
  summary: 'Undo a removal of all entries, or of many',
  body: Named('Restore', {
    removal_id: Integer('Which removal, from the list of removals.', 1),
  }),
  errors: [409, 429],
};

export function removalRoutes({ ctx, routesOf }: Mount): void {
  const route = routesOf('account');
  route('GET /removals', {
    may: ['admin'],
    summary: 'What removals of all or of many entries took away and can be undone, newest first',
    answer: Type.Array(Removal),
    handle: async ({ scope }) => {
      const removals = await listRemovals(ctx.db, scope.account_id, ctx.clock.now());
      return removals.map(({ chosen, ...removal }) => ({ ...removal, chosen: chosen === 1 }));
    },
  });
}
