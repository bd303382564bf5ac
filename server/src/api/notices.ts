// Notices as people see them: things of the last hours that need a look.
import { type Static, Type } from 'typebox';
import { accountNames } from '../accounts/accounts.ts';
import type { Context } from '../context.ts';
import { Integer, Named, OneOf, Strict, Text, Timestamp } from '../http/fields.ts';
import { refusalNotices } from '../nodes/nodes.ts';
import { usageOfUsers, usersNearLimit } from '../users/users.ts';

const maxUsers = 20;

export const Notices = Named('Notices', {
  limits: Type.Array(
    Strict({
      account: Text('Account name.'),
      user: Text('User name.'),
      limit_bytes: Integer('The own limit of the user, in bytes of a billing period.'),
      usage: Integer('Bytes of the user in this billing period.'),
      used_up: Type.Boolean({ description: 'Whether all of it is used up.' }),
      on_limit: OneOf(['refuse', 'notify'], 'Whether nodes refuse the user then.'),
      until: Timestamp('When the next billing period begins.'),
    }),
    { description: 'Active users with a limit of their own who used 80% of it or more.' },
  ),
  rising: Type.Array(
    Strict({
      account: Text('Account name.'),
      at: Timestamp('The hour.'),
      refusals: Integer('Refused connections in it.'),
      usual_refusals: Integer('The mean of an hour in the seven days before.'),
    }),
    {
      description:
        'Accounts with 50 refused connections or more in this clock hour or the one before, and ten times the usual number.',
    },
  ),
  tries: Type.Array(
    Strict({
      network: Text('The IP address, or the /64 of an IPv6 address.'),
      users: Integer('How many users.'),
      at: Timestamp('When it was last noticed.'),
    }),
    {
      description:
        'Addresses that tried wrong VPN passwords for ten users or more within an hour, noticed in the last hour.',
    },
  ),
});

/** The notices of an account, or of all: what happened there in the last hours. */
export async function presentNotices(
  { db, clock }: Pick<Context, 'db' | 'clock'>,
  account_id?: number,
): Promise<Static<typeof Notices>> {
  const now = clock.now();
  const [{ rising, tries }, users] = await Promise.all([
    refusalNotices(db, account_id, now),
    usersNearLimit(db, account_id, now, maxUsers),
  ]);
  const [nameOf, usageOf] = await Promise.all([
    accountNames(
      db,
      [...rising, ...users].map((row) => row.account_id),
    ),
    usageOfUsers(db, users, now),
  ]);
  return {
    limits: users.flatMap((user) => {
      const account = nameOf.get(user.account_id);
      if (account === undefined || user.limit_bytes === null) return [];
      const { name, limit_bytes, on_limit, over_limit, near_until: until } = user;
      const used_up = over_limit === 1;
      const usage = usageOf(user);
      return [{ account, user: name, limit_bytes, usage, used_up, on_limit, until }];
    }),
    rising: rising.flatMap(({ account_id: id, ...row }) => {
      const account = nameOf.get(id);
      return account === undefined ? [] : [{ account, ...row }];
    }),
    tries,
  };
}
