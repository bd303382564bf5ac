// The places of the servers, grouped by PostgreSQL in both ways: by sorting and by hashing.
import { expect, test } from 'vitest';
import { eachDatabase } from './databases.ts';
import { startTestApp } from './harness.ts';
import { runStatement } from './postgres.ts';

/** Written in no order; enough of them that a hash does not put them in order by chance. */
const cities = ['Oslo', 'Bern', 'Lima', 'Graz', 'Nice', 'Turin', 'Bonn', 'Kyiv', 'Porto', 'Derry'];
const places = cities.map((city, at) => ({
  ...{ city, country: ['NO', 'CH', 'PE'][at % 3] as string },
  ...{ latitude: 40 + at, longitude: 10 - at },
}));
/** Of each place so many servers, one in each state. */
const tones = ['good', 'warn', 'bad', 'neutral'] as const;
const statuses = { good: 'ok', warn: 'warn', bad: 'crit', neutral: 'unknown' };

eachDatabase(({ name: engine, url }) => {
  const plans = engine === 'PostgreSQL' ? ['enable_sort', 'enable_hashagg'] : [];

  // PostgreSQL chooses by its statistics. With one way disabled it takes the other.
  test.each([...plans.map((plan) => [`without ${plan}`, plan]), ['as it comes', '']])(
    'a place whose servers are in several states is listed once, with the count of each, in order: %s',
    async (_, plan) => {
      const database_url = await url();
      if (plan) {
        const database = new URL(database_url).pathname.slice(1);
        await runStatement(database_url, `alter database ${database} set ${plan} = off`);
      }
      const t = await startTestApp(database_url);
      try {
        const now = t.now();
        // Servers of one place are never next to each other in the table.
        const servers = tones.flatMap((tone, round) =>
          places.map((place, at) => ({ id: round * places.length + at + 1, tone, place })),
        );
        const alone = { city: 'Ghent', country: 'BE', latitude: 51, longitude: 3 };
        servers.push({ id: servers.length + 1, tone: 'warn', place: alone });
        const { revision } = (await t.operator.get('/status')).body.database;
        await t.write(async (tx) => {
          await tx.insertMany(
            'servers',
            servers.map(({ id, place }) => ({
              ...{ id, name: `s${id}`, hostname: `s${id}.example`, title: '', ...place },
              ...{ services: '["proxy"]', applied_revision: 0, created_at: now },
            })),
          );
          await tx.insertMany(
            'exit_ips',
            servers.map(({ id, tone }) => ({
              ...{ server_id: id, ip: `198.51.100.${id}`, port_base: 1 },
              ...{ status: statuses[tone], status_time: now },
            })),
          );
          await tx.insertMany(
            'nodes',
            servers.map(({ id }) => ({
              ...{ id, server_id: id, name: 'n', hash: `${id}`, version: '1', joined_at: now },
              ...{ applied_revision: revision, seen_at: now, revoked_at: null, reported_until: 0 },
              ...{ live: 1, drained_at: null },
            })),
          );
        });
        const keyOf = ({ country, city }: (typeof places)[number]) => `${country} ${city}`;
        const four = places.map((place) => ({
          ...{ ...place, servers: 4, server: null },
          states: { good: 1, warn: 1, bad: 1, neutral: 1 },
        }));
        const single = { ...alone, servers: 1, server: `s${servers.length}` };
        expect((await t.operator.get('/servers/places')).body).toEqual(
          [...four, { ...single, states: { good: 0, warn: 1, bad: 0, neutral: 0 } }].sort((a, b) =>
            keyOf(a) < keyOf(b) ? -1 : 1,
          ),
        );
      } finally {
        await t.stop();
      }
    },
  );
});
