// The context that every request works with; tests pass in their own clock.
import type { Logger } from 'pino';
import type { BackupSchedule } from './backups/schedule.ts';
import type { WriteBudget } from './bounds/write_budget.ts';
import type { VersionReader } from './changes/versions.ts';
import type { Clock } from './clock.ts';
import type { Config } from './config.ts';
import type { Database } from './db/database.ts';
import type { Install } from './install/install.ts';
import type { Secrets } from './keys/secrets.ts';
import type { Callers } from './observed/callers.ts';
import type { LastUsed } from './observed/last_used.ts';
import type { Metrics } from './observed/metrics.ts';
import type { Certificate, CertificateStatus } from './tls/certificate.ts';
import type { Geoip } from './values/geoip.ts';

export interface Context {
  config: Config;
  clock: Clock;
  db: Database;
  secrets: Secrets;
  versions: VersionReader;
  metrics: Metrics;
  geoip: Geoip;
  install: Install;
  /** Null: no listener speaks TLS. */
  certificate: () => CertificateStatus | null;
  /**
   * The certificate and key that sign files for people; undefined: no certificate of an authority
   * exists.
   */
  signer: () => Certificate | undefined;
  log: Logger;
  lastUsed: LastUsed;
  callers: Callers;
  writes: WriteBudget;
  /** Undefined: the server makes no backups by itself. */
  backups: BackupSchedule | undefined;
  /**
   * Resolves when every live node that serves the account has applied the revision, when the time
   * is over, or when the server stops. `null` stands for all servers of the account. `progress`
   * counts the live nodes, and those that have it; undefined if the database does not answer.
   * Resolves to undefined at once if too many requests wait already.
   */
  whenApplied: (
    account_id: number,
    server_id: number | null,
    revision: number,
    wait_seconds: number,
  ) => Promise<{ progress: { nodes: number; applied: number } | undefined } | undefined>;
}
