// What every request works with; tests hand in their own clock.
import type { Logger } from 'pino';
import type { Caller } from './api/account/authentication.ts';
import type { Clock } from './clock.ts';
import type { Config } from './config.ts';
import type { Database } from './db/database.ts';
import type { Geoip } from './geoip.ts';
import type { AnswerCache } from './http/caching.ts';
import type { Metrics } from './metrics.ts';
import type { Secrets } from './secrets.ts';
import type { Stamps } from './versions.ts';

export interface Context {
  config: Config;
  clock: Clock;
  db: Database;
  secrets: Secrets;
  stamps: Stamps;
  cache: AnswerCache;
  metrics: Metrics;
  geoip: Geoip;
  log: Logger;
  /** Remembers that an API token was used; written to the database now and then. */
  noteTokenUse: (caller: Caller) => void;
  /**
   * Resolves when every live node that serves the account (on that one server, or on all of its
   * servers when null) has applied the revision, when the seconds are over, or when the server stops.
   */
  whenApplied: (
    account_id: number,
    server_id: number | null,
    revision: number,
    wait_seconds: number,
  ) => Promise<void>;
}
