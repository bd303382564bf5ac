// The schedule of backups: one at a time in one process, verified if the setting says so; the
// oldest are removed.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { Logger } from 'pino';
import { makeFolderDurably } from '../../../kit/src/durable.ts';
import { fullDiskFault } from '../bounds/full_disk.ts';
import type { Clock } from '../clock.ts';
import type { Config } from '../config.ts';
import { isGood, listBackups, nameOfBackup, removeLeftovers, removeOldBackups } from './folder.ts';
import { type RunningTask, startTask } from './thread.ts';

/** The state of this server's backups; times in epoch seconds. */
export interface BackupStatus {
  folder: string;
  every_seconds: number;
  keep: number;
  verify: boolean;
  /** The newest backup. */
  last: { file: string; at: number; bytes: number } | null;
  /** The newest backup that was verified. */
  last_verified: { file: string; at: number; verified_at: number } | null;
  /** Why the last attempt, or the last verification, failed; null when all is well. */
  fault: string | null;
  /**
   * Whether there was no good backup for longer than twice the interval. Where backups are
   * verified, only verified ones are good.
   */
  late: boolean;
}

type Settings = NonNullable<Config['backups']>;
type Needs = Pick<Config, 'database_url' | 'keys_file' | 'mounted_secrets'>;

/** How soon a failed attempt is repeated, unless the interval is shorter. */
const againSeconds = 600;

export class BackupSchedule {
  readonly #settings: Settings;
  readonly #needs: Needs;
  readonly #network: string;
  readonly #clock: Clock;
  readonly #log: Logger;
  /** Epoch seconds: an empty folder is not late at once. */
  readonly #began: number;
  #fault: string | null = null;
  #running: RunningTask | undefined;
  #looking: Promise<void> | undefined;
  #stopped = false;
  /** Steady seconds. */
  #notBefore = Number.NEGATIVE_INFINITY;
  failures = 0;

  /** `network`: whose backups count; see `Manifest`. */
  constructor(settings: Settings, needs: Needs, network: string, clock: Clock, log: Logger) {
    this.#settings = settings;
    this.#needs = needs;
    this.#network = network;
    this.#clock = clock;
    this.#log = log;
    this.#began = clock.now();
  }

  /**
   * Makes a backup when one is due. Never throws: a problem is reported in the status and the log.
   */
  look(): Promise<void> {
    this.#looking ??= this.#look().finally(() => {
      this.#looking = undefined;
    });
    return this.#looking;
  }

  async #look(): Promise<void> {
    const { folder, keep, every_seconds } = this.#settings;
    if (this.#stopped || this.#clock.steady() < this.#notBefore) return;
    let unlock: (() => void) | undefined;
    try {
      makeFolderDurably(folder);
      if (!this.#task()) return;
      unlock = lock(folder);
      if (!unlock) return;
      // Another process may have made the backup in the meantime.
      const task = this.#task();
      if (!task) return;
      removeLeftovers(folder);
      this.#running = startTask({ ...this.#needs, ...task, folder });
      const fault = await this.#running.done;
      if (this.#stopped) return;
      if (fault !== null) throw new Error(fault);
      removeOldBackups(folder, this.#network, keep);
      this.#fault = null;
      this.#log.info({ file: task.file, verified: task.verify }, 'a backup was made');
    } catch (error) {
      const full = fullDiskFault(error, [folder], 'for a backup');
      this.#fault = (full ?? (error as Error)).message;
      this.failures += 1;
      this.#notBefore = this.#clock.steady() + Math.min(againSeconds, every_seconds);
      this.#log.error({ fault: this.#fault }, 'a backup failed and will be tried again');
    } finally {
      this.#running = undefined;
      unlock?.();
    }
  }

  /**
   * The work that is due; undefined when there is none. A clock that was set back does not stop
   * backups.
   */
  #task() {
    const { folder, every_seconds, verify } = this.#settings;
    const now = this.#clock.now();
    const newest = listBackups(folder, this.#network)[0];
    const isDue = !newest || now - newest.at >= every_seconds || newest.at - now > every_seconds;
    if (isDue) {
      const file = join(folder, nameOfBackup(now));
      // A file of this second is another network's: the next look comes later.
      return existsSync(file) && file !== newest?.file
        ? undefined
        : { file, now, isNew: true, verify };
    }
    // The process ended, or the disk was full, between backup and verification.
    const isUnverified = verify && (newest.manifest?.verified_at ?? null) === null;
    return isUnverified ? { file: newest.file, now, isNew: false, verify } : undefined;
  }

  status(): BackupStatus {
    const { folder, every_seconds, keep, verify } = this.#settings;
    let all: ReturnType<typeof listBackups> = [];
    let fault = this.#fault;
    try {
      all = listBackups(folder, this.#network);
    } catch (error) {
      fault ??= `The folder ${folder} cannot be read (${(error as NodeJS.ErrnoException).code}).`;
    }
    const [newest] = all;
    const good = all.find(({ manifest }) => isGood(manifest));
    const counts = verify ? good : newest;
    const since = counts?.at ?? this.#began;
    return {
      folder,
      every_seconds,
      keep,
      verify,
      last: newest ? { file: newest.file, at: newest.at, bytes: newest.bytes } : null,
      last_verified: good?.manifest?.verified_at
        ? { file: good.file, at: good.at, verified_at: good.manifest.verified_at }
        : null,
      fault: fault ?? newest?.fault ?? null,
      late: this.#clock.now() - since > 2 * every_seconds,
    };
  }

  /** Cancels a running backup. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#running?.stop();
    await this.#looking;
  }
}

/**
 * Locks the folder for this process until it is released or the process ends. Undefined: another
 * process has it.
 */
function lock(folder: string): (() => void) | undefined {
  const db = new DatabaseSync(join(folder, '.lock'), { timeout: 0 });
  try {
    db.exec('begin exclusive');
    return () => db.close();
  } catch (error) {
    db.close();
    if ((((error as { errcode?: number }).errcode ?? 0) & 0xff) === busy) return undefined;
    throw error;
  }
}

const busy = 5;
const lookSeconds = 10;

/** Checks regularly from now on. Returns the function that stops it. */
export function startBackups(schedule: BackupSchedule): () => Promise<void> {
  const look = () => void schedule.look();
  look();
  const timer = setInterval(look, lookSeconds * 1000);
  timer.unref();
  return () => {
    clearInterval(timer);
    return schedule.stop();
  };
}
