// The SQL of the custom DNS entries that point to an address, or to addresses of a network.

import type { Network } from '../../../kit/src/address.ts';
import { findWithin } from '../db/address_ranges.ts';
import type { Reader } from '../db/database.ts';
import { isRemoved } from '../lists/batches.ts';

/** An entry, with the names of its account and server. */
interface PointingEntry {
  account: string;
  account_id: number;
  id: number;
  ip: string;
  hostname: string;
  server: string;
  expiry: number;
}

const statement = `select c.name as account, o.account_id, o.id, o.ip, o.hostname, s.name as server, o.expiry
  from overrides o join accounts c on c.id = o.account_id join servers s on s.id = o.server_id
  where (o.ip, o.account_id, o.id) > ($1, $2, $3) and o.ip < $4 and o.expiry > $5
    and o.removed_revision is null and not ${isRemoved('overrides', 'o')}
  order by o.ip, o.account_id, o.id limit $6`;

/** The entries in force at `now` that point to addresses of a network, up to a limit. */
export function findPointing(
  db: Reader,
  network: Network,
  maxEntries: number,
  now: number,
): Promise<PointingEntry[]> {
  return findWithin<PointingEntry>(network, maxEntries, ({ from, to }, behind, slice) => {
    const { ip = from, account_id = 0, id = 0 } = behind ?? {};
    return db.all(statement, [ip, account_id, id, to, now, slice]);
  });
}
