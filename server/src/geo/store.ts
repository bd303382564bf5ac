// The SQL of geo-IP statuses.
import type { Reader, Transaction } from '../db/database.ts';
import { type OfContract, ofContract } from '../db/of_contract.ts';

export interface GeoStatusRow {
  ip: string;
  provider: string;
  status: string;
  /** When it was computed. */
  status_time: number;
  /** The country in which the provider locates the IP. */
  country: string | null;
  /** The distance from the server; null where the provider has no place. */
  distance_km: number | null;
}

/** Statuses of the addresses above `after`, up to `last`. */
export function statusesBetween(db: Reader, after: string, last: string): Promise<GeoStatusRow[]> {
  return db.all('select * from geo_statuses where ip > $1 and ip <= $2', [after, last]);
}

export interface ListedGeoStatus extends GeoStatusRow {
  server: string;
}

/** By address and provider, after this one; of one server or with one status if that is given. */
export function listGeoStatuses(
  db: Reader,
  { server, status }: { server: string | undefined; status: string | undefined },
  after: { ip: string; provider: string },
  maxRows: number,
): Promise<ListedGeoStatus[]> {
  return db.all(
    `select s.name as server, g.* from geo_statuses g
     join exit_ips e on e.ip = g.ip join servers s on s.id = e.server_id
     where (ip_order(g.ip), g.provider) > (ip_order($1), $2) and s.name = coalesce($3, s.name) and g.status = coalesce($4, g.status)
     order by ip_order(g.ip), g.provider limit $5`,
    [after.ip, after.provider, server ?? null, status ?? null, maxRows],
  );
}

export function geoStatusesOfServer(db: Reader, server_id: number): Promise<GeoStatusRow[]> {
  return db.all(
    `select g.* from exit_ips e join geo_statuses g on g.ip = e.ip
     where e.server_id = $1 order by g.provider`,
    [server_id],
  );
}

export function geoStatusesOfContract(db: Reader, of: OfContract): Promise<GeoStatusRow[]> {
  const { sql, values } = ofContract(of);
  return db.all(
    `select g.* from contract_servers c join exit_ips e on e.server_id = c.server_id
     join geo_statuses g on g.ip = e.ip where ${sql} order by g.provider`,
    values,
  );
}

export function setGeoStatuses(tx: Transaction, rows: readonly GeoStatusRow[]): Promise<void> {
  return tx.insertMany(
    'geo_statuses',
    rows.map((row) => ({ ...row })),
    `on conflict (ip, provider) do update set status = excluded.status, status_time = excluded.status_time,
       country = excluded.country, distance_km = excluded.distance_km`,
  );
}

export function removeGeoStatus(tx: Transaction, ip: string, provider: string): Promise<number> {
  return tx.run('delete from geo_statuses where ip = $1 and provider = $2', [ip, provider]);
}
