// The rows that changes refer to, as they are now: one statement per table, however many changes.
import { type AuthlistRow, findAuthlistRows } from '../authlist/authlist.ts';
import type { LoggedChange } from '../changes/changes.ts';
import { findContractServers } from '../contract_servers/contract_servers.ts';
import type { Reader } from '../db/database.ts';
import { findByKeys, type Key } from '../db/one_of.ts';
import { findOverrideRows, type OverrideRow } from '../overrides/overrides.ts';
import { type User, usersByKey } from '../users/users.ts';

type Find<R> = (...key: Key) => R | undefined;

export interface CurrentRows {
  /** Whether an account is on a server. */
  isOn(account_id: number, server_id: number): boolean;
  user: Find<User>;
  authlist: Find<AuthlistRow>;
  override: Find<OverrideRow>;
}

const ofRecord = ({ account_id, id }: { account_id: number; id: number }): Key => [account_id, id];

/** Reads the rows that these changes refer to, for the servers that each change goes to. */
export async function readCurrentRows(
  db: Reader,
  deliveries: ReadonlyArray<{ change: LoggedChange; server_ids: readonly number[] }>,
): Promise<CurrentRows> {
  const keysOf = (kind: LoggedChange['kind']) =>
    deliveries.flatMap(({ change: { account_id, record_id, ...change } }): Key[] =>
      change.kind === kind && account_id !== null && record_id !== null
        ? [[account_id, record_id]]
        : [],
    );
  const places = deliveries.flatMap(({ change: { account_id }, server_ids }) =>
    account_id === null ? [] : server_ids.map((id): Key => [account_id, id]),
  );
  const [on, user, authlist, override] = await Promise.all([
    findByKeys(
      places,
      ({ account_id, server_id }: { account_id: number; server_id: number }): Key => [
        account_id,
        server_id,
      ],
      (keys) => findContractServers(db, keys),
    ),
    usersByKey(db, keysOf('user')),
    findByKeys(keysOf('authlist'), ofRecord, (keys) => findAuthlistRows(db, keys)),
    findByKeys(keysOf('override'), ofRecord, (keys) => findOverrideRows(db, keys)),
  ]);
  return { isOn: (...key) => on(...key) !== undefined, user, authlist, override };
}
