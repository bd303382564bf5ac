// Health of exit IPs that several nodes may serve: the worst status that any of them reports.
import type { Transaction } from '../db/database.ts';
import { exitIpsOfServer, type HealthStatus, recordHealth } from '../servers/servers.ts';
import * as store from './store.ts';

/** From the status without information to the worst. */
export const severity: readonly HealthStatus[] = ['unknown', 'ok', 'warn', 'crit'];

/**
 * Stores a node's reports on exit IPs, and updates the status shown. Returns how many reports were
 * accepted: those on the server's own exit IPs, and not older than the node's last report.
 */
export async function reportHealth(
  tx: Transaction,
  node: store.NodeRow,
  reports: store.HealthReport[],
  stale_seconds: number,
): Promise<number> {
  const storedIps = new Set<string>();
  for (const report of reports) {
    if (await store.putHealth(tx, node, report)) storedIps.add(report.ip);
  }
  await showHealth(tx, node.server_id, storedIps, stale_seconds, node.id);
  return storedIps.size;
}

/** Updates the status of all exit IPs of a server, from the nodes that take connections now. */
export async function refreshHealth(
  tx: Transaction,
  server_id: number,
  stale_seconds: number,
): Promise<void> {
  const exits = await exitIpsOfServer(tx, server_id);
  await showHealth(
    tx,
    server_id,
    exits.map(({ ip }) => ip),
    stale_seconds,
  );
}

/**
 * The status shown is the worst among the last reports of the server's live nodes, if not older
 * than `stale_seconds`: a customer may use any of them, except drained ones. If all are drained,
 * new connections are refused and it is `crit`. `reporting`: a node that is live because it
 * reports; without it, an exit IP without reports becomes `unknown`.
 */
async function showHealth(
  tx: Transaction,
  server_id: number,
  ips: Iterable<string>,
  stale_seconds: number,
  reporting?: number,
): Promise<void> {
  const all = await store.nodesOfServer(tx, server_id);
  const live = all.filter(({ id, live }) => live === 1 || id === reporting);
  const open = live.filter(({ drained_at }) => drained_at === null);
  const reports = await store.healthReports(tx, open, tx.now - stale_seconds);
  const byAddress = Map.groupBy(reports, ({ ip }) => ip);
  const isClosed = live.length > 0 && open.length === 0;
  const shown = Array.from(ips, (ip): store.HealthReport | undefined => {
    if (isClosed) return { ip, status: 'crit', status_time: tx.now };
    const ofAddress = byAddress.get(ip);
    if (ofAddress) return worst(ofAddress);
    return reporting === undefined ? { ip, status: 'unknown', status_time: tx.now } : undefined;
  });
  await recordHealth(
    tx,
    server_id,
    shown.filter((report) => report !== undefined),
  );
}

function worst(reports: store.HealthReport[]): store.HealthReport {
  return reports.reduce((a, b) => ({
    ip: a.ip,
    status: severity.indexOf(b.status) > severity.indexOf(a.status) ? b.status : a.status,
    status_time: Math.max(a.status_time, b.status_time),
  }));
}
