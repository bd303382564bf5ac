// The disks of the data folder and the database: free space, whether they keep data, and how long a
// flush takes.
import { statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { type Check, fault, type Outcome } from '../../../kit/src/doctor/check.ts';
import { judgeFlushes, judgeSpace, nearestFolder } from '../../../kit/src/doctor/disk.ts';
import type { Clock } from '../clock.ts';
import type { Config } from '../config.ts';

const mib = 1024 ** 2;
/** Half a year of usage and audit in a busy network (docs/operating.md, growth). */
const expectedBytes = 2048 * mib;
/** Network file systems, by their number in statfs(2). */
const overNetwork = new Set([0x6969, 0xff534d42, 0xfe534d42, 0x517b]);

export function diskChecks(config: Config, clock: Clock): Check[] {
  const folders = [config.data_dir];
  const file = sqliteFile(config);
  if (file && dirname(file) !== config.data_dir) folders.push(dirname(file));
  const existingFolders = folders.map(nearestFolder);
  const look = (check: (folder: string) => Outcome | Promise<Outcome>) => () =>
    Promise.all(existingFolders.map(check));
  return [
    { name: 'disk_space', run: look((folder) => judgeFolder(folder, file)) },
    { name: 'disk_speed', run: look((folder) => judgeSpeed(folder, clock)) },
  ];
}

/** The path of the SQLite database; undefined on PostgreSQL. */
export function sqliteFile({ database_url }: Config): string | undefined {
  return database_url.startsWith('sqlite:') ? database_url.slice('sqlite:'.length) : undefined;
}

function judgeFolder(folder: string, database: string | undefined): Outcome {
  const isHere = database !== undefined && dirname(database) === folder;
  if (isHere && overNetwork.has(statfsSync(folder).type)) {
    return fault(
      `${folder} is on a network file system, on which SQLite's log does not work.`,
      'a local disk, or PostgreSQL: docs/postgresql.md',
    );
  }
  const databaseBytes = isHere ? sizeOf(database) : 0;
  const isLarge = databaseBytes > expectedBytes;
  return judgeSpace(folder, {
    // SQLite's log and the writes of a start surely fit into this much.
    least_bytes: 256 * mib,
    below_least: 'soon nothing can be written',
    expected_bytes: isLarge ? databaseBytes : expectedBytes,
    below_expected: isLarge ? ', for a copy of the database' : '',
    in_memory: 'all of it is gone when the machine restarts',
    remedy: 'set EXITWARD_DATA_DIR to a folder on a disk',
  });
}

function judgeSpeed(folder: string, clock: Clock): Promise<Outcome> {
  return judgeFlushes(folder, clock, {
    // Writes wait for a flush, and all that came meanwhile share the next one: a revocation must
    // take at most 200 ms, even during a flood.
    slow_ms: 20,
    when_slow: 'each change waits for one; expected 20 ms at most',
    // The slowest disk on which reads were measured to continue while a writer works
    // (bench/slow_disk.ts).
    too_slow_ms: 500,
    when_too_slow: 'each change waits for one; expected 20 ms at most',
    remedy: `iostat -x 1 5, then another disk for ${folder}`,
  });
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}
