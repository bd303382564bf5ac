// The SQL of claims: which entries list an address, or addresses of a network, on each port scheme.

import type { Network } from '../../../kit/src/address.ts';
import { findWithin, startOf } from '../db/address_ranges.ts';
import type { Reader } from '../db/database.ts';
import { paddedTexts } from '../db/one_of.ts';
import { isRemoved } from '../lists/batches.ts';
import type { AuthlistEntry, Proof } from './store.ts';

/** A claim on an address, with the names of its holder. */
export interface NamedClaim extends Proof {
  port_scheme: string;
  account: string;
  id: number;
  ip: string;
  user: string;
  expiry: number;
}

const statement = `select p.name as port_scheme, c.name as account, a.id, a.ip, u.name as "user", a.expiry,
    a.proven_at, a.waits
  from authlist a join port_schemes p on p.id = a.port_scheme_id join accounts c on c.id = a.account_id
  join users u on u.account_id = a.account_id and u.id = a.user_id
  where a.port_scheme_id = $1 and a.ip >= $2 and a.ip < $3 and a.expiry > $4
    and not ${isRemoved('authlist', 'a')}
  order by a.ip limit $5`;

/** The claims on a network's addresses at `now`, up to a limit: one per address and port scheme. */
export async function findClaims(
  db: Reader,
  network: Network,
  maxClaims: number,
  now: number,
): Promise<NamedClaim[]> {
  const namedClaims: NamedClaim[] = [];
  const schemes = await db.all<{ id: number }>('select id from port_schemes order by name');
  for (const { id } of schemes) {
    if (namedClaims.length >= maxClaims) break;
    const claims = await findWithin<NamedClaim>(
      network,
      maxClaims - namedClaims.length,
      (range, behind, slice) =>
        db.all(statement, [id, startOf(range, behind), range.to, now, slice]),
    );
    namedClaims.push(...claims);
  }
  return namedClaims;
}

type EntryOn = Pick<AuthlistEntry, 'account_id' | 'ip' | 'user_id' | 'user' | 'waits'>;

/** SQLite's time for a statement grows with the square of the number of its placeholders. */
const ipsOfStatement = 512;

/** The entries of these addresses that hold at `now`, of any account. */
export async function entriesOn(
  db: Reader,
  ips: readonly string[],
  now: number,
): Promise<EntryOn[]> {
  const distinct = [...new Set(ips)];
  const entries: EntryOn[] = [];
  for (let at = 0; at < distinct.length; at += ipsOfStatement) {
    const texts = paddedTexts(distinct.slice(at, at + ipsOfStatement));
    const places = texts.map((_, place) => `$${place + 2}`);
    const rows = await db.all<EntryOn>(
      `select a.account_id, a.ip, a.user_id, u.name as "user", a.waits
       from authlist a join users u on u.account_id = a.account_id and u.id = a.user_id
       where a.port_scheme_id in (select id from port_schemes) and a.ip in (${places})
         and a.expiry > $1 and not ${isRemoved('authlist', 'a')}`,
      [now, ...texts],
    );
    entries.push(...rows);
  }
  return entries;
}
