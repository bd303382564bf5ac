// Brings a database to the schema of this version. Migrations are numbered and never edited.
import { randomUUID } from 'node:crypto';
import type { Database, Engine } from './database.ts';
import { network } from './migrations/0001_network.ts';
import { questionsAndHealth } from './migrations/0002_questions_and_health.ts';
import { usageJournals } from './migrations/0003_usage_journals.ts';
import { signIn } from './migrations/0004_sign_in.ts';
import { authlistUses } from './migrations/0005_authlist_uses.ts';
import { versions } from './migrations/0006_versions.ts';
import { histories } from './migrations/0007_histories.ts';
import { nodeFaults } from './migrations/0008_node_faults.ts';
import { proofs } from './migrations/0009_proofs.ts';
import { removalsInSlices } from './migrations/0011_removals_in_slices.ts';
import { heldUsage } from './migrations/0013_held_usage.ts';
import { removalsByRange } from './migrations/0014_removals_by_range.ts';
import { signingKeys } from './migrations/0016_signing_keys.ts';
import { usageDays } from './migrations/0018_usage_days.ts';
import { drainedNodes } from './migrations/0019_drained_nodes.ts';
import { hashKeys } from './migrations/0020_hash_keys.ts';
import { auditByMonth } from './migrations/0021_audit_by_month.ts';
import { vpnHealth } from './migrations/0022_vpn_health.ts';
import { notes } from './migrations/0023_notes.ts';
import { listsInPages } from './migrations/0024_lists_in_pages.ts';
import { topics } from './migrations/0025_topics.ts';
import { manifests } from './migrations/0026_manifests.ts';
import { nodePoints } from './migrations/0029_node_points.ts';
import { peopleInPages } from './migrations/0030_people_in_pages.ts';
import { usageOfServers } from './migrations/0031_usage_of_servers.ts';
import { serverPages } from './migrations/0032_server_pages.ts';
import { tokensAndAddresses } from './migrations/0033_tokens_and_addresses.ts';
import { listBatches } from './migrations/0034_list_batches.ts';
import { vpnGenerations } from './migrations/0035_vpn_generations.ts';
import { foldedSearch } from './migrations/0036_folded_search.ts';
import { fewestConnections } from './migrations/0037_fewest_connections.ts';
import { savedViews } from './migrations/0038_saved_views.ts';
import { fillUsageSums, usageSums, usageSumsFilled } from './migrations/0039_usage_sums.ts';
import { connectionWatches } from './migrations/0041_connection_watches.ts';
import { refusals } from './migrations/0042_refusals.ts';
import { userLimits } from './migrations/0043_user_limits.ts';
import { refusalReports } from './migrations/0044_refusal_reports.ts';
import {
  fillUsageOfUsers,
  usageOfUsers,
  usageOfUsersFilled,
} from './migrations/0045_usage_of_users.ts';
import { endOrders } from './migrations/0047_end_orders.ts';
import { refusalNotices } from './migrations/0048_refusal_notices.ts';
import { nearLimits } from './migrations/0049_near_limits.ts';
import { userHoldings } from './migrations/0050_user_holdings.ts';
import { exitUses } from './migrations/0051_exit_uses.ts';
import { nodeConnectionLog } from './migrations/0052_node_connection_log.ts';
import { exitIpsAddedAt } from './migrations/0053_exit_ips_added_at.ts';

interface Migration {
  id: number;
  name: string;
  statements: (engine: Engine) => string[];
  /**
   * The next part of the work before the statements, unless the database is empty; undefined: none
   * is left. Each part is a transaction, whose statements fail if it was done before.
   */
  nextPart?: (db: Database) => Promise<{ part: number; statements: string[] } | undefined>;
}

/** In order, imported by hand; only these run. */
const migrations: Migration[] = [
  { id: 1, name: 'network', statements: network },
  { id: 2, name: 'questions_and_health', statements: questionsAndHealth },
  { id: 3, name: 'usage_journals', statements: usageJournals },
  { id: 4, name: 'sign_in', statements: signIn },
  { id: 5, name: 'authlist_uses', statements: authlistUses },
  { id: 6, name: 'versions', statements: versions },
  { id: 7, name: 'histories', statements: histories },
  { id: 8, name: 'node_faults', statements: nodeFaults },
  { id: 9, name: 'proofs', statements: proofs },
  { id: 11, name: 'removals_in_slices', statements: removalsInSlices },
  { id: 13, name: 'held_usage', statements: heldUsage },
  { id: 14, name: 'removals_by_range', statements: removalsByRange },
  { id: 16, name: 'signing_keys', statements: signingKeys },
  { id: 18, name: 'usage_days', statements: usageDays },
  { id: 19, name: 'drained_nodes', statements: drainedNodes },
  { id: 20, name: 'hash_keys', statements: hashKeys },
  { id: 21, name: 'audit_by_month', statements: auditByMonth },
  { id: 22, name: 'vpn_health', statements: vpnHealth },
  { id: 23, name: 'notes', statements: notes },
  { id: 24, name: 'lists_in_pages', statements: listsInPages },
  { id: 25, name: 'topics', statements: topics },
  { id: 26, name: 'manifests', statements: manifests },
  { id: 29, name: 'node_points', statements: nodePoints },
  { id: 30, name: 'people_in_pages', statements: peopleInPages },
  { id: 31, name: 'usage_of_servers', statements: usageOfServers },
  { id: 32, name: 'server_pages', statements: serverPages },
  { id: 33, name: 'tokens_and_addresses', statements: tokensAndAddresses },
  { id: 34, name: 'list_batches', statements: listBatches },
  { id: 35, name: 'vpn_generations', statements: vpnGenerations },
  { id: 36, name: 'folded_search', statements: foldedSearch },
  { id: 37, name: 'fewest_connections', statements: fewestConnections },
  { id: 38, name: 'saved_views', statements: savedViews },
  { id: 39, name: 'usage_sums', statements: usageSums },
  {
    id: 40,
    name: 'usage_sums_filled',
    nextPart: fillUsageSums,
    statements: usageSumsFilled,
  },
  { id: 41, name: 'connection_watches', statements: connectionWatches },
  { id: 42, name: 'refusals', statements: refusals },
  { id: 43, name: 'user_limits', statements: userLimits },
  { id: 44, name: 'refusal_reports', statements: refusalReports },
  { id: 45, name: 'usage_of_users', statements: usageOfUsers },
  {
    id: 46,
    name: 'usage_of_users_filled',
    nextPart: fillUsageOfUsers,
    statements: usageOfUsersFilled,
  },
  { id: 47, name: 'end_orders', statements: endOrders },
  { id: 48, name: 'refusal_notices', statements: refusalNotices },
  { id: 49, name: 'near_limits', statements: nearLimits },
  { id: 50, name: 'user_holdings', statements: userHoldings },
  { id: 51, name: 'exit_uses', statements: exitUses },
  { id: 52, name: 'node_connection_log', statements: nodeConnectionLog },
  { id: 53, name: 'exit_ips_added_at', statements: exitIpsAddedAt },
];
/** The schema that this program brings a database to. Numbers may be left out. */
export const newestSchema = migrations.at(-1)?.id ?? 0;

/**
 * Runs the missing migrations, each in its own transaction, on an empty database all in one.
 * Returns their names. Several processes may call it at once. Errors: a plain Error when the
 * database is newer than this program. Tests make the database of an older one, `upTo` a schema.
 */
export async function migrate(db: Database, upTo = newestSchema): Promise<string[]> {
  await db.script([
    'create table if not exists migrations (id bigint primary key, name text not null)',
  ]);
  const ran: string[] = [];
  let version = await knownVersion(db);
  while (version < upTo) {
    const missing = migrations.filter(({ id }) => id > version && id <= upTo);
    const next = version === 0 ? missing : missing.slice(0, 1);
    try {
      if (version > 0) await inParts(db, next[0]?.nextPart);
      await db.script(next.flatMap((migration) => statementsOf(migration, db.engine)));
      ran.push(...next.map(({ name }) => name));
      version = next.at(-1)?.id ?? version;
    } catch (error) {
      // If another process was first, its row exists now. Anything else is an error.
      const before = version;
      version = await knownVersion(db);
      if (version === before) throw error;
    }
  }
  return ran;
}

async function inParts(db: Database, nextPart: Migration['nextPart']): Promise<void> {
  let next = await nextPart?.(db);
  while (next) {
    const { part, statements } = next;
    const failure = await db.script(statements).then(
      () => undefined,
      (error: unknown) => ({ error }),
    );
    next = await nextPart?.(db);
    // As above: another process may have been first.
    if (failure && next?.part === part) throw failure.error;
  }
}

function statementsOf({ id, name, statements }: Migration, engine: Engine): string[] {
  return [
    `insert into migrations (id, name) values (${id}, '${name}')`,
    ...statements(engine),
    ...(id === 1
      ? [`insert into network (id, epoch, revision) values (1, '${randomUUID()}', 1)`]
      : []),
  ];
}

/** Errors: a plain Error when the database is newer than this program. */
async function knownVersion(db: Database): Promise<number> {
  const version = await schemaVersion(db);
  if (version <= newestSchema) return version;
  throw new Error(
    `The database has schema ${version}; this program knows ${newestSchema}. Start the newer Exitward.`,
  );
}

/** The number of the newest migration that this database has; 0 when it is empty. */
export async function schemaVersion(db: Database): Promise<number> {
  const row = await db.one<{ version: number | null }>('select max(id) as version from migrations');
  return row?.version ?? 0;
}

/** True when every migration of this program has run. */
export async function schemaIsCurrent(db: Database): Promise<boolean> {
  try {
    return (await schemaVersion(db)) === newestSchema;
  } catch {
    return false;
  }
}
