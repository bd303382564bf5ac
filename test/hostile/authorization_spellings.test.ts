// The ways to write one Authorization header: however many a client sends, the server remembers
// one.
import { expect, test } from 'vitest';
import { eachDatabase } from '../../server/test/databases.ts';
import { basic, startTestApp } from '../../server/test/harness.ts';

eachDatabase((database) => {
  test('blanks, case and the alphabet of base64 make no cached response of their own', async () => {
    const t = await startTestApp(await database.url());
    const authorization = basic((await t.account('acme')).api_token);
    const pair = authorization.slice('Basic '.length);
    const spellings = [
      `Basic${' '.repeat(4000)}${pair}`,
      `basic ${pair}`,
      `BASIC   ${pair}`,
      `Basic ${pair.replace(/=+$/, '')}${pair.endsWith('=') ? '' : '='}`,
    ];
    const hits = async () => {
      const metrics = await (await fetch(t.running.metrics_url as string)).text();
      return Number(/^exitward_cache_hits_total\{status="200"\} (\d+)/m.exec(metrics)?.[1] ?? 0);
    };
    for (const spelling of [...spellings, ...spellings]) {
      expect((await t.with(spelling).get('/v0/contract')).status).toBe(200);
    }
    expect(await hits()).toBe(0);
    // All of them are one principal, whose response is cached for the usual spelling.
    expect((await t.with(authorization).get('/v0/contract')).status).toBe(200);
    expect(await hits()).toBe(1);
    await t.stop();
  });
});
