// …/removals: entries that were removed together and can be restored.
import { Type } from 'typebox';
import { Integer, Named, OneOf, Timestamp } from '../../http/fields.ts';
import { listRemovals } from '../../lists/removals.ts';
import type { Mount } from './mount.ts';

const Removal = Named('Removal', {
  removal_id: Integer('Names it when it is undone.', 1),
  list: OneOf(['authlist', 'overrides'], 'Which list.'),
  entries: Integer('How many entries it took away.'),
  at: Timestamp('When.'),
  chosen: Type.Boolean({ description: 'Whether it took entries that were chosen, not all.' }),
});

/** The body of an undo, for either list. */
export const Undo = Named('Restore', {
  removal_id: Integer('Which removal, from the list of removals.', 1),
});

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
