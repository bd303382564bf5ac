// The database: does it keep data, does its lock exclude, do its notifications arrive?

import { closeSync, openSync, readSync, statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { bytesInWords } from '../../../kit/src/cli/values.ts';
import { type Check, fault, type Outcome, ok, warning } from '../../../kit/src/doctor/check.ts';
import { isThere } from '../../../kit/src/private_files.ts';
import type { Clock } from '../clock.ts';
import type { Config } from '../config.ts';
import type { DatabaseFacts } from '../db/database.ts';
import { lostFile } from '../db/faults.ts';
import { newestSchema } from '../db/migrate.ts';
import { openDatabase } from '../db/open.ts';
import { sqliteFile } from './disk.ts';

/** Judges an open database by the facts that it reports. */
export function judge(facts: DatabaseFacts): Outcome[] {
  if (facts.engine === 'sqlite') {
    const { bytes, log_bytes, is_lost, has_failed } = facts;
    if (is_lost)
      return [fault(lostFile, 'move the file back; or stop the server: exitward restore BACKUP')];
    if (has_failed)
      return [
        fault(
          "The disk failed while SQLite's log was moved into the database: the log grows until a restart.",
          'look at the disk, then restart the server',
        ),
      ];
    return [
      log_bytes > 1024 ** 3 && log_bytes > bytes
        ? warning(
            `SQLite's log has ${bytesInWords(log_bytes)}, more than the database: something reads for hours, or the disk does not keep up.`,
            'end long snapshots and backups, then look again',
          )
        : ok(
            `SQLite has ${bytesInWords(bytes)} and ${bytesInWords(log_bytes)} in its log, which is flushed before an answer.`,
          ),
    ];
  }
  const { unfit, version, synchronous_commit, fsync, full_page_writes, standbys } = facts;
  if (unfit !== null) return [fault(unfit, 'docs/postgresql.md')];
  const outcomes: Outcome[] = [];
  if (fsync !== 'on' || full_page_writes !== 'on') {
    outcomes.push(
      fault(
        `PostgreSQL runs with fsync=${fsync} and full_page_writes=${full_page_writes}: a power cut destroys the database.`,
        'alter system reset fsync; alter system reset full_page_writes; select pg_reload_conf()',
      ),
    );
  }
  if (synchronous_commit === 'off' || synchronous_commit === 'local') {
    // Exitward's own commits wait for the disk all the same.
    outcomes.push(
      warning(
        `PostgreSQL has synchronous_commit=${synchronous_commit}; Exitward's commits wait for the disk all the same, other programs' do not.`,
        'alter system reset synchronous_commit; select pg_reload_conf()',
      ),
    );
  }
  outcomes.push(
    ok(
      `PostgreSQL ${version} is the primary, its lock excludes, notifications arrive, commits wait for the disk (synchronous_commit=${synchronous_commit}).`,
    ),
    standbys === 0
      ? ok('No standby follows it: what is not in a backup is lost with its disk.')
      : ok(`${standbys} ${standbys === 1 ? 'standby follows' : 'standbys follow'} it.`),
  );
  return outcomes;
}

/** Examines the database while no server runs. On SQLite it changes nothing and creates no file. */
export function stoppedDatabase(config: Config, clock: Clock): Check {
  return {
    name: 'database',
    run: async () => {
      const file = sqliteFile(config);
      if (file !== undefined) return lookAtFile(file);
      try {
        const db = await openDatabase(config.database_url, { clock });
        return await db
          .examine()
          .then(judge)
          .finally(() => db.close());
      } catch (error) {
        return fault((error as Error).message, 'EXITWARD_DATABASE_URL; docs/postgresql.md');
      }
    },
  };
}

const magic = 'SQLite format 3\0';

function lookAtFile(file: string): Outcome {
  if (!isThere(file)) return ok(`There is no database ${file} yet; the first start makes it.`);
  const restore = 'exitward restore BACKUP';
  if (headOf(file) !== magic) return fault(`${file} is no SQLite database.`, restore);
  if ((statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0) {
    return ok(`The database ${file} was not closed; the next start brings in the rest of its log.`);
  }
  // No other program writes, so SQLite needs no files next to it.
  const url = pathToFileURL(file);
  url.search = 'immutable=1';
  const db = new DatabaseSync(url, { readOnly: true });
  try {
    const row = db.prepare('select max(id) as schema from migrations').get();
    const schema = Number(row?.schema ?? 0);
    if (schema > newestSchema) {
      return fault(
        `The database has schema ${schema}; this program knows ${newestSchema}.`,
        'start the newer Exitward',
      );
    }
    const rest = schema < newestSchema ? `; the next start brings it to ${newestSchema}` : '';
    return ok(`The database ${file} is closed and has schema ${schema}${rest}.`);
  } catch (error) {
    return fault(`The database ${file} cannot be read: ${(error as Error).message}.`, restore);
  } finally {
    db.close();
  }
}

function headOf(file: string): string {
  const handle = openSync(file, 'r');
  try {
    const head = Buffer.alloc(magic.length);
    readSync(handle, head);
    return head.toString('latin1');
  } finally {
    closeSync(handle);
  }
}
