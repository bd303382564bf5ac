// The SQL of the VPN's health: the services that each node last reported, by exit.
import type { Reader, Transaction } from '../db/database.ts';
import type { OfContract } from '../db/of_contract.ts';
import { idCondition } from '../db/one_of.ts';

export interface VpnHealthRow {
  node_id: number;
  ip: string;
  service: string;
  status: 'ok' | 'warn' | 'crit' | 'unknown';
  status_time: number;
}

/**
 * Replaces all reports of a node. The addresses are exits of its server, each with a service once.
 */
export async function replaceVpnHealth(
  tx: Transaction,
  node_id: number,
  rows: readonly VpnHealthRow[],
): Promise<void> {
  await tx.run('delete from node_vpn_health where node_id = $1', [node_id]);
  await tx.insertMany(
    'node_vpn_health',
    rows.map((row) => ({ ...row })),
  );
}

/** A node and one of its reports; or only the node. */
export type NodeReport = {
  server_id: number;
  live: number;
  drained_at: number | null;
  certificate_expiry: number | null;
} & (Omit<VpnHealthRow, 'node_id'> | { ip: null });

/** A server, or the servers of a contract: all, or these. */
export type OfServers = { server_id: number } | OfContract;

/** The nodes of servers that are not revoked, with their reports after `fresh_after`. */
export function nodeReports(db: Reader, of: OfServers, fresh_after: number): Promise<NodeReport[]> {
  const { sql, ids } = idCondition(
    'n.server_id',
    'server_id' in of ? [of.server_id] : of.server_ids,
    'server_id' in of ? 2 : 3,
  );
  const isOfContract =
    'account_id' in of
      ? 'n.server_id in (select server_id from contract_servers where account_id = $2) and'
      : '';
  return db.all(
    `select n.server_id, n.live, n.drained_at, n.certificate_expiry, h.ip, h.service, h.status, h.status_time
     from nodes n left join node_vpn_health h on h.node_id = n.id and h.status_time > $1
     where n.revoked_at is null and ${isOfContract} ${sql}`,
    [fresh_after, ...('account_id' in of ? [of.account_id] : []), ...ids],
  );
}
