// The soak by hand: for so many minutes, with a report; exit code 1 when anything differs.
//   npm run soak -- --minutes 10 [--engine squid|embedded] [--database sqlite|postgresql]
import { randomBytes } from 'node:crypto';
import { parseArgs } from 'node:util';
import { databaseUrl, runStatement, startPostgres } from '../../server/test/postgres.ts';
import { Random } from '../../server/test/random.ts';
import type { EngineName } from '../system/agent_process.ts';
import { soak } from './soak.ts';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    engine: { type: 'string', default: 'squid' },
    database: { type: 'string', default: 'sqlite' },
  },
});
const { minutes, engine, database } = values;
if (!['squid', 'embedded'].includes(engine) || !['sqlite', 'postgresql'].includes(database)) {
  console.error('expected --engine squid or embedded, --database sqlite or postgresql');
  process.exit(2);
}

const random = Random.printed(`soak of ${minutes} minutes, ${engine}, ${database}`);
const postgres = database === 'postgresql' ? await startPostgres() : undefined;
const name = `soak_${randomBytes(6).toString('hex')}`;
if (postgres) await runStatement(postgres.url, `create database ${name} template template0`);
try {
  const settings = postgres ? { EXITWARD_DATABASE_URL: databaseUrl(postgres.url, name) } : {};
  const seconds = 60 * Number(minutes);
  const report = await soak({ engine: engine as EngineName, settings, seconds, random });
  const list = (counts: Map<string, number>) =>
    [...counts].map(([kind, often]) => `${kind} ${often}`).join(', ');
  console.log(`${report.histories} histories: ${list(report.faults)}`);
  console.log(`${(report.bytes / 1e6).toFixed(0)} MB in ${report.exchanges} exchanges`);
  console.log(`refused: ${list(report.refusals) || 'none'}`);
  console.log(`${report.differences.length} differences`);
  for (const difference of report.differences) console.log(`  ${difference}`);
  if (report.differences.length > 0) process.exitCode = 1;
} finally {
  await postgres?.stop();
}
