// The SQL of manifests: which records each of them owns.
import type { Reader, Transaction } from '../db/database.ts';

export type Kind = 'server' | 'account' | 'user' | 'contract_server';

/** A record that a manifest owns. */
export interface Owned {
  kind: Kind;
  name: string;
  manifest: string;
}

export function ownedBy(db: Reader, manifest: string): Promise<Owned[]> {
  return db.all<Owned>(
    'select kind, name, manifest from manifest_records where manifest = $1 order by kind, name',
    [manifest],
  );
}

export function findOwner(db: Reader, kind: Kind, name: string): Promise<Owned | undefined> {
  return db.one<Owned>(
    'select kind, name, manifest from manifest_records where kind = $1 and name = $2',
    [kind, name],
  );
}

export async function recordOwner(tx: Transaction, { kind, name, manifest }: Owned): Promise<void> {
  await tx.run('insert into manifest_records (kind, name, manifest) values ($1, $2, $3)', [
    kind,
    name,
    manifest,
  ]);
}

export async function disown(tx: Transaction, kind: Kind, name: string): Promise<void> {
  await tx.run('delete from manifest_records where kind = $1 and name = $2', [kind, name]);
}
