// Runs the embedded engine in a process of its own, for attacks on what a process has.
//   engine_process FOLDER
//       reads records.json and settings.json there, says `ready`, ends with its standard input
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import { systemClock } from '../../agent/src/clock.ts';
import { readConfig } from '../../agent/src/config.ts';
import { startEmbedded } from '../../agent/src/embedded/engine.ts';
import { Store } from '../../agent/src/store/store.ts';
import { inPieces, snapshotText } from '../../agent/test/stored.ts';

const [folder = ''] = process.argv.slice(2);
const read = (name: string) => JSON.parse(readFileSync(join(folder, name), 'utf8'));
const config = readConfig(read('settings.json'));
const dir = join(folder, 'policy');
const store = await Store.open(dir);
const snapshot = snapshotText({ epoch: 'e1', revision: 1 }, read('records.json'));
await store.replace(inPieces(snapshot), systemClock.now());
const { connect_ports, http_ports, allowed, staleness_seconds } = config;
await startEmbedded({
  config,
  rules: { connect_ports, http_ports, allowed, staleness_seconds },
  dir,
  clock: systemClock,
  log: pino({ level: 'silent' }),
});
process.stdout.write('ready\n');
process.stdin.on('end', () => process.exit(0)).resume();
