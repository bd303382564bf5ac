// The SQL of when authlist entries were last used, a table next to the list.
import { setImmediate as turn } from 'node:timers/promises';
import type { Reader, Transaction } from '../db/database.ts';
import type { Ids } from '../db/slices.ts';
import { isRemoved } from '../lists/batches.ts';
import type { AuthlistRow } from './store.ts';

/** When an entry last let a connection in. */
export interface LastUsed {
  account_id: number;
  entry_id: number;
  /** Epoch seconds. */
  used_at: number;
}

/** One statement for any number: missing rows are filled with ids that no entry has. */
const rowsOfStatement = 100;
const noEntry: LastUsed = { account_id: 0, entry_id: 0, used_at: 0 };
const existingStatement = `select a.account_id, a.id from (values ${Array.from(
  { length: rowsOfStatement },
  (_, at) => `(cast($${2 * at + 1} as bigint), cast($${2 * at + 2} as bigint))`,
)}) as v, authlist a where a.account_id = v.column1 and a.id = v.column2`;

/** Those of the named entries that exist. */
export async function existing(
  db: Reader,
  named: ReadonlyArray<Pick<AuthlistRow, 'account_id' | 'id'>>,
): Promise<Array<Pick<AuthlistRow, 'account_id' | 'id'>>> {
  const entries: Array<Pick<AuthlistRow, 'account_id' | 'id'>> = [];
  for (let at = 0; at < named.length; at += rowsOfStatement) {
    const values = named
      .slice(at, at + rowsOfStatement)
      .flatMap(({ account_id, id }) => [account_id, id]);
    const rest = Array<number>(2 * rowsOfStatement - values.length).fill(0);
    entries.push(...(await db.all<AuthlistRow>(existingStatement, [...values, ...rest])));
    await turn();
  }
  return entries;
}
const putLastUsedStatement = `insert into authlist_uses (account_id, entry_id, used_at)
  select v.column1, v.column2, v.column3 from (values ${Array.from(
    { length: rowsOfStatement },
    (_, at) => `(${[1, 2, 3].map((column) => `cast($${3 * at + column} as bigint)`)})`,
  )}) as v, authlist a where a.account_id = v.column1 and a.id = v.column2
  on conflict (account_id, entry_id) do update set used_at = excluded.used_at
    where authlist_uses.used_at < excluded.used_at`;

/** Stores when entries were last used, each once; not for unknown ones, nor an earlier time. */
export async function putLastUsed(tx: Transaction, entries: readonly LastUsed[]): Promise<void> {
  for (let at = 0; at < entries.length; at += rowsOfStatement) {
    const part = entries.slice(at, at + rowsOfStatement);
    const rows = [...part, ...Array<LastUsed>(rowsOfStatement - part.length).fill(noEntry)];
    await tx.run(
      putLastUsedStatement,
      rows.flatMap(({ account_id, entry_id, used_at }) => [account_id, entry_id, used_at]),
    );
  }
}

export function lastUsedOfAccount(
  db: Reader,
  account_id: number,
  { after, to }: Pick<Ids, 'after' | 'to'>,
): Promise<Array<Pick<LastUsed, 'entry_id' | 'used_at'>>> {
  return db.all(
    `select s.entry_id, s.used_at from authlist_uses s
       join authlist a on a.account_id = s.account_id and a.id = s.entry_id
     where s.account_id = $1 and s.entry_id > $2 and s.entry_id <= $3 and not ${isRemoved('authlist', 'a')}`,
    [account_id, after, to],
  );
}
