// The demo's geo-IP statuses move, so that its lists of them live.
import { expect, test } from 'vitest';
import { movingGeoStatuses } from '../demo/geo.ts';
import { seedDemo } from '../demo/seed.ts';
import { eachDatabase } from '../server/test/databases.ts';
import { startTestApp } from '../server/test/harness.ts';

eachDatabase((database) => {
  test('a provider of the demo that is wrong about an exit IP comes to agree, and is wrong again later', async () => {
    const t = await startTestApp(await database.url());
    await seedDemo(t.running.ctx);
    const wrong = async () => (await t.operator.get('/geo?status=crit&limit=1000')).body.length;
    const before = await wrong();
    const move = await movingGeoStatuses(t.running.ctx);
    await move();
    expect(await wrong()).toBe(before - 1);
    for (let at = 0; at < 11; at++) await move();
    expect(await wrong()).toBe(before);
    await t.stop();
  });
});
