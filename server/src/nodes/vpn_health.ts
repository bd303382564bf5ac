// Health of VPN services at exit IPs that several nodes may serve: the worst status that any of
// them reports, as for the exit IPs themselves.
import { bumpVersion, networkVersion } from '../changes/changes.ts';
import type { Reader, Transaction } from '../db/database.ts';
import { exitIpsOfServer } from '../servers/servers.ts';
import { severity } from './health.ts';
import * as store from './store.ts';
import {
  type NodeReport,
  nodeReports,
  type OfServers,
  replaceVpnHealth,
  type VpnHealthRow,
} from './vpn_health_store.ts';

export type VpnReport = Omit<VpnHealthRow, 'node_id'>;

/** An exit IP belongs to one server, so the server is not part of the name. */
const nameOf = ({ ip, service }: Pick<VpnReport, 'ip' | 'service'>) => `${ip} ${service}`;

export interface VpnHealth {
  /** The status of a service at an exit IP; undefined: no recent report. */
  find(exit_ip: string, service: string): VpnReport | undefined;
  /** When the first certificate of a node expires; null: none was reported. */
  certificate_expiry: number | null;
}

/**
 * Stores everything that a node reports about its VPN; without services and certificate it serves
 * none.
 */
export async function reportVpnHealth(
  tx: Transaction,
  { id, server_id, certificate_expiry: before }: store.NodeRow,
  reports: readonly VpnReport[],
  certificate_expiry: number | null,
): Promise<void> {
  const exits = new Set<string>((await exitIpsOfServer(tx, server_id)).map(({ ip }) => ip));
  const ofServer = reports.filter(({ ip }) => exits.has(ip));
  const rows = new Map(ofServer.map((report) => [nameOf(report), { node_id: id, ...report }]));
  await replaceVpnHealth(tx, id, [...rows.values()]);
  if (before !== certificate_expiry) await store.setCertificateExpiry(tx, id, certificate_expiry);
  if (rows.size > 0) await bumpVersion(tx, networkVersion);
}

/**
 * The VPN of a server, or of the servers of a contract, from reports not older than
 * `stale_seconds`.
 */
export async function vpnHealth(
  db: Reader,
  of: OfServers,
  stale_seconds: number,
  now: number,
): Promise<VpnHealth> {
  const rows = await nodeReports(db, of, now - stale_seconds);
  const byServer = Map.groupBy(rows, ({ server_id }) => server_id);
  const ends = rows.flatMap(({ certificate_expiry }) => certificate_expiry ?? []);
  const shown = new Map(
    [...byServer.values()].flatMap(shownOf).map((report) => [nameOf(report), report]),
  );
  return {
    find: (ip, service) => shown.get(nameOf({ ip, service })),
    certificate_expiry: ends.length > 0 ? Math.min(...ends) : null,
  };
}

/**
 * The reports of the nodes of one server. Only live nodes that are not drained count. If all live
 * nodes are drained, new logins are refused and it is `crit`. If none is live, their last reports
 * count until they are too old.
 */
function shownOf(rows: readonly NodeReport[]): VpnReport[] {
  const live = rows.filter((row) => row.live === 1);
  const countedRows = live.length > 0 ? live : rows;
  const open = countedRows.filter(({ drained_at }) => drained_at === null);
  const isClosed = live.length > 0 && open.length === 0;
  const reports = (isClosed ? countedRows : open).filter((row) => row.ip !== null);
  return Array.from(Map.groupBy(reports, nameOf).values(), (ofExit) => {
    const [worst] = ofExit.toSorted(
      (a, b) => severity.indexOf(b.status) - severity.indexOf(a.status),
    );
    const { ip, service, status } = worst as (typeof ofExit)[number];
    const status_time = Math.max(...ofExit.map((row) => row.status_time));
    return { ip, service, status: isClosed ? 'crit' : status, status_time };
  });
}
