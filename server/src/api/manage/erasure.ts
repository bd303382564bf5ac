// …/users/{user}/erase: removes a person from the records; for operators only.
import { setImmediate as turn } from 'node:timers/promises';
import { Type } from 'typebox';
import { forgetEntriesOf, pastAddressesOf } from '../../authlist/authlist.ts';
import { pseudonymise } from '../../changes/audit.ts';
import type { Transaction } from '../../db/database.ts';
import { Named } from '../../http/fields.ts';
import { disownUser } from '../../manifests/manifests.ts';
import { eraseUsesOf, forgetHoldingsOf, forgetRefusalsOf } from '../../nodes/nodes.ts';
import { forgetAdder } from '../../overrides/overrides.ts';
import { forgetViews } from '../../saved_views/saved_views.ts';
import { forgetSignIn, revokeSessions } from '../../sign_in/sign_in.ts';
import { disableUser, pseudonymOf, renameErased } from '../../users/users.ts';
import type { Mount } from './mount.ts';
import { UserPath, userOf } from './users.ts';

/** Reads a slice after an id; answers its last id, undefined at the end. */
type Walk = (tx: Transaction, after: number) => Promise<number | undefined>;

export function erasureRoutes({ ctx, audience, routesOf, write }: Mount): void {
  if (!audience.is_operator) return;
  routesOf('users')('POST /users/:user/erase', {
    may: ['admin'],
    find: (scope, names) => userOf(ctx.db, scope, names),
    id: 'erase_user',
    summary: 'Erase a person: a pseudonym takes the place of names and addresses; usage stays',
    description:
      'Ends all access first, then takes names and addresses out of the lists, what an undo would bring back, and the audit log. It cannot be undone; when it was interrupted, repeat it.',
    params: UserPath,
    answer: Named('ErasedUser', {
      pseudonym: Type.String({ description: 'The name of the record from now on.' }),
    }),
    statuses: { 409: 'Another user of the account has the pseudonym as name.' },
    handle: async (request) => {
      const user = await write(request, async (tx, scope) => {
        const user = await userOf(tx, scope, request.params);
        await disableUser(tx, user, revokeSessions);
        await forgetSignIn(tx, user);
        return user;
      });
      const { account_id, account_name } = request.scope;
      const pseudonym = pseudonymOf(user);
      const addresses = new Set<string>();
      const erased = { ...user, user_id: user.id, account_name, pseudonym, addresses };
      const adder = {
        ...{ account_id, id: user.id },
        actor: `${account_name}/${user.name}`,
        pseudonym: `${account_name}/${pseudonym}`,
      };
      const entries: Walk = (tx, after) => forgetEntriesOf(tx, adder, after);
      const overrides: Walk = (tx, after) => forgetAdder(tx, adder, after);
      const records: Walk = async (tx, after) => {
        // Its entries have left the list by now.
        if (after === 0) {
          for (const ip of await pastAddressesOf(tx, account_id, user.id)) addresses.add(ip);
        }
        return pseudonymise(tx, account_id, after, erased);
      };
      const walk = async (step: Walk) => {
        for (let at = 0; ; await turn()) {
          const last = await write(request, (tx) => step(tx, at));
          if (last === undefined) return at;
          at = last;
        }
      };
      const walks: Array<readonly [Walk, number]> = [];
      for (const step of [entries, overrides, records]) walks.push([step, await walk(step)]);
      // The name goes last: until then the request can be repeated.
      await write(request, async (tx) => {
        for (const [step, seen] of walks) {
          for (let at: number | undefined = seen; at !== undefined; ) at = await step(tx, at);
        }
        await disownUser(tx, account_name, user.name);
        await forgetViews(tx, { ...user, account_name });
        await forgetRefusalsOf(tx, user);
        await forgetHoldingsOf(tx, user);
        await eraseUsesOf(tx, user);
        await renameErased(tx, user);
      });
      return { pseudonym };
    },
  });
}
