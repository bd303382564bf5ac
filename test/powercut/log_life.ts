// A database's life, recorded: its log is folded, the disk fails once, for the log or the database,
// and megabytes are written.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '../../server/src/clock.ts';
import type { DatabaseFacts } from '../../server/src/db/database.ts';
import { openDatabase } from '../../server/src/db/open.ts';
import { marks } from './trace.ts';

export type LogMark = DatabaseFacts & { engine: 'sqlite' };

/** A megabyte each: four make the log long. */
const writes = 12;
/** Time for the thread that folds the log. */
const pauseMs = 100;
const actor = { kind: 'system', name: 'test', address: '', request_id: '' } as const;

async function live(folder: string): Promise<void> {
  const db = await openDatabase(`sqlite:${join(folder, 'exitward.db')}`, { clock: systemClock });
  await db.script(['create table big (content blob)']);
  const write = async () => {
    await db.write(actor, (tx) => tx.run('insert into big values (randomblob(1000000))'));
    await sleep(pauseMs);
  };
  for (let written = 0; written < writes; written += 1) await write();
  const { POWERCUT_FAILS } = process.env;
  Object.assign(process.env, { POWERCUT_FAIL_NAME: POWERCUT_FAILS, POWERCUT_FAIL_AT: '1' });
  // The one that meets the failure gets an error.
  for (let written = 0; written < writes; written += 1) await write().catch(() => {});
  writeFileSync(join(folder, marks), JSON.stringify(await db.examine()));
  process.exit(0);
}

if (import.meta.main) await live(process.argv[2] as string);
