// Notices as people see them: things of the last hours that need a look.
import { type Static, Type } from 'typebox';
import { accountNames } from '../accounts/accounts.ts';
import type { Context } from '../context.ts';
import { Integer, Named, Strict, Text, Timestamp } from '../http/fields.ts';
import { refusalNotices } from '../nodes/nodes.ts';

export const Notices = Named('Notices', {
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
  const { rising, tries } = await refusalNotices(db, account_id, clock.now());
  const nameOf = await accountNames(
    db,
    rising.map((row) => row.account_id),
  );
  return {
    rising: rising.flatMap(({ account_id: id, ...row }) => {
      const account = nameOf.get(id);
      return account === undefined ? [] : [{ account, ...row }];
    }),
    tries,
  };
}
