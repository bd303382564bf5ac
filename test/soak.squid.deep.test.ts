// One short history of the soak with each engine, on either database: the whole system, faults of
// chance, and bytes, decisions and records compared.
import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { databaseUrl, runStatement, startPostgres } from '../server/test/postgres.ts';
import { Random } from '../server/test/random.ts';
import { soak } from './soak/soak.ts';

test('with Squid, on SQLite, a history of faults ends without a difference', async () => {
  const random = Random.printed('soak, squid, SQLite');
  const report = await soak({ engine: 'squid', seconds: 1, random });
  expect(report.differences).toEqual([]);
  expect(report.exchanges).toBeGreaterThan(10);
}, 600_000);

test('with the embedded engine, on PostgreSQL, a history of faults ends without a difference', async () => {
  const random = Random.printed('soak, embedded, PostgreSQL');
  const postgres = await startPostgres();
  try {
    const name = `soak_${randomBytes(6).toString('hex')}`;
    await runStatement(postgres.url, `create database ${name} template template0`);
    const settings = { EXITWARD_DATABASE_URL: databaseUrl(postgres.url, name) };
    const report = await soak({ engine: 'embedded', settings, seconds: 1, random });
    expect(report.differences).toEqual([]);
    expect(report.exchanges).toBeGreaterThan(10);
  } finally {
    await postgres.stop();
  }
}, 600_000);
