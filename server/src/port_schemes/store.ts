// The SQL of port schemes.
import type { Reader, Transaction } from '../db/database.ts';

export interface PortSchemeRow {
  id: number;
  name: string;
  /** JSON: `[{"base": 10000, "service": "proxy"}, …]` */
  bases: string;
}

export function all(db: Reader): Promise<PortSchemeRow[]> {
  return db.all('select * from port_schemes order by id');
}

export function findByName(db: Reader, name: string): Promise<PortSchemeRow | undefined> {
  return db.one('select * from port_schemes where name = $1', [name]);
}

export function setBases(tx: Transaction, id: number, bases: string): Promise<number> {
  return tx.run('update port_schemes set bases = $2 where id = $1', [id, bases]);
}

export function remove(tx: Transaction, id: number): Promise<number> {
  return tx.run('delete from port_schemes where id = $1', [id]);
}

/** False when the name is taken. */
export async function insert(tx: Transaction, row: PortSchemeRow): Promise<boolean> {
  const rows = await tx.put(
    'insert into port_schemes (id, name, bases) values ($1, $2, $3) on conflict do nothing returning id',
    [row.id, row.name, row.bases],
  );
  return rows.length > 0;
}
