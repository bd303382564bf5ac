// The context that every request works with; tests hand in their own clock.
import type { Logger } from 'pino';
import type { BackupSchedule } from './backups/schedule.ts';
import type { Callers } from './callers.ts';
import type { Certificate, CertificateStatus } from './certificate.ts';
import type { Clock } from './clock.ts';
import type { Config } from './config.ts';
import type { Database } from './db/database.ts';
import type { Geoip } from './geoip.ts';
import type { Install } from './install.ts';
import type { LastUsed } from './last_used.ts';
import type { Metrics } from './metrics.ts';
import type { Secrets } from './secrets.ts';
import type { VersionReader } from './versions.ts';
import type { WriteBudget } from './write_budget.ts';

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
  /** The certificate and key that sign files for people; undefined: there is none that an authority issued. */
  signer: () => Certificate | undefined;
  log: Logger;
  lastUsed: LastUsed;
  callers: Callers;
  writes: WriteBudget;
  /** Undefined: the server makes no backups by itself. */
  backups: BackupSchedule | undefined;
  /**
   * Resolves when every live node that serves the account (on that one server, or on all of its
   * servers when null) has applied the revision, when the seconds are over, or when the server stops.
   * False, and at once: too many wait already.
   */
  whenApplied: (
    account_id: number,
    server_id: number | null,
    revision: number,
    wait_seconds: number,
  ) => Promise<boolean>;
}
