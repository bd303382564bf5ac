// The SQL of addresses that were on an authlist until lately: refusals from them concern the
// account.
import type { Reader, Transaction } from '../db/database.ts';
import { type Key, listOfKeys, paddedTexts } from '../db/one_of.ts';

/**
 * The maximum number of past addresses of an account; those of newer entries replace older ones.
 */
export const maxPast = 10_000;

/**
 * Notes the addresses of these entries, which are about to be deleted or changed. One entry per
 * slot: PostgreSQL refuses to change a row twice in one statement.
 */
export async function noteEnds(tx: Transaction, keys: readonly Key[]): Promise<void> {
  const bySlot = new Map(keys.map((key) => [`${key[0]} ${key[1] % maxPast}`, key]));
  const { list, values } = listOfKeys(Array.from(bySlot.values()));
  await tx.run(
    `insert into past_addresses (account_id, slot, ip, user_id, ended_at)
       select account_id, id % ${maxPast}, ip, user_id, cast($${values.length + 1} as bigint)
       from authlist where (account_id, id) in ${list}
       on conflict (account_id, slot) do update
         set ip = excluded.ip, user_id = excluded.user_id, ended_at = excluded.ended_at`,
    [...values, tx.now],
  );
}

/**
 * Finds, for each of these addresses, the account that listed it before a time (epoch seconds), or
 * else the last one that did until lately.
 */
export async function listersOf(
  db: Reader,
  ips: readonly string[],
): Promise<(ip: string, before: number) => number | undefined> {
  const texts = paddedTexts(ips);
  const places = texts.map((_, at) => `$${at + 1}`);
  const [current, past] = await Promise.all([
    db.all<{ ip: string; account_id: number; added_at: number | null }>(
      `select ip, account_id, added_at from authlist
       where port_scheme_id in (select id from port_schemes) and ip in (${places}) order by expiry`,
      texts,
    ),
    db.all<{ ip: string; account_id: number }>(
      `select ip, account_id from past_addresses where ip in (${places}) order by ended_at`,
      texts,
    ),
  ]);
  const [listed, ended] = [Map.groupBy(current, ipOf), Map.groupBy(past, ipOf)];
  // The last of each wins.
  return (ip, before) => {
    const lister = listed.get(ip)?.findLast(({ added_at }) => (added_at ?? 0) < before);
    return (lister ?? ended.get(ip)?.at(-1))?.account_id;
  };
}

const ipOf = ({ ip }: { ip: string }) => ip;

/** The addresses that a user had on the list until lately. */
export async function pastAddressesOf(
  db: Reader,
  account_id: number,
  user_id: number,
): Promise<string[]> {
  const rows = await db.all<{ ip: string }>(
    'select ip from past_addresses where account_id = $1 and user_id = $2',
    [account_id, user_id],
  );
  return rows.map(({ ip }) => ip);
}

export function forgetPast(tx: Transaction, account_id: number, user_id: number): Promise<number> {
  return tx.run('delete from past_addresses where account_id = $1 and user_id = $2', [
    account_id,
    user_id,
  ]);
}

export function purgePast(tx: Transaction, time: number, maxRows: number): Promise<number> {
  return tx.run(
    `delete from past_addresses where (account_id, slot) in
       (select account_id, slot from past_addresses where ended_at <= $1 order by ended_at limit $2)`,
    [time, maxRows],
  );
}
