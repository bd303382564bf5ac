// Health of exit IPs that several nodes may serve: the worst that any of them reports.
import type { Transaction } from '../db/database.ts';
import { type HealthStatus, recordHealth } from '../servers/servers.ts';
import * as store from './store.ts';

/** From the status that tells nothing to the worst. */
const severity: readonly HealthStatus[] = ['unknown', 'ok', 'warn', 'crit'];

/**
 * Stores a node's reports on exit IPs. The status that shows is the worst among the last reports of
 * the server's live nodes that are not older than `stale_seconds`: a customer may come out at any of
 * them. Returns how many reports were taken: of the server's own exit IPs, and not older than the
 * node's last.
 */
export async function reportHealth(
  tx: Transaction,
  node: store.NodeRow,
  reports: store.HealthReport[],
  stale_seconds: number,
): Promise<number> {
  const taken = new Set<string>();
  for (const report of reports) {
    if (await store.putHealth(tx, node, report)) taken.add(report.ip);
  }
  const all = await store.healthReports(tx, node, tx.now - stale_seconds);
  const byAddress = Map.groupBy(all, ({ ip }) => ip);
  const shown = Array.from(taken, (ip) => byAddress.get(ip) ?? []).filter(
    ({ length }) => length > 0,
  );
  await recordHealth(tx, node.server_id, shown.map(worst));
  return taken.size;
}

function worst(reports: store.HealthReport[]): store.HealthReport {
  return reports.reduce((one, other) => ({
    ip: one.ip,
    status:
      severity.indexOf(other.status) > severity.indexOf(one.status) ? other.status : one.status,
    status_time: Math.max(one.status_time, other.status_time),
  }));
}
