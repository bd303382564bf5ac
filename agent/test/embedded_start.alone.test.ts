// The start of the embedded engine: with a bad policy on disk it may let no client in, but it
// starts.
import { mkdirSync, writeFileSync } from 'node:fs';
import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../src/clock.ts';
import { readConfig } from '../src/config.ts';
import { startEmbedded } from '../src/embedded/engine.ts';
import { changesPath, snapshotPath } from '../src/store/generations.ts';
import { rules } from './histories.ts';
import { createFolder } from './stored.ts';

test('a policy that cannot be read is a fault of catching up, not the end of the start', async () => {
  const { dir, remove } = createFolder();
  onTestFinished(remove);
  mkdirSync(snapshotPath(dir, 1), { recursive: true });
  writeFileSync(changesPath(dir, 1), '');
  const config = readConfig({ EXITWARD_AGENT_STATE_DIR: dir });
  const log = pino({ level: 'silent' });
  const engine = await startEmbedded({ config, rules, dir, clock: systemClock, log });
  onTestFinished(() => engine.stop({ leave_running: false }));
  await expect(engine.catchUp()).rejects.toThrow('EISDIR');
  expect(engine.listeners().size).toBe(0);
});
