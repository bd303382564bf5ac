// The page at /docs begins with what its reader uses.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createApp } from '../src/app.ts';
import { Metrics } from '../src/observed/metrics.ts';
import { eachDatabase } from './databases.ts';
import { startTestApp, type TestApp } from './harness.ts';

eachDatabase((database) => {
  let t: TestApp;
  beforeAll(async () => {
    t = await startTestApp(await database.url());
  });
  afterAll(() => t.stop());

  test.each([
    ['the account API', { customers: true }, 'Account API', 'api_token'],
    ['the account API', { customers: true, operators: true }, 'Account API', 'api_token'],
    ['the operator API', { operators: true }, 'Operator API', 'operator_token'],
  ])('begins with %s at a listener of %j', async (_, parts, group, scheme) => {
    const all = { customers: false, operators: false, nodes: false, ...parts };
    const app = await createApp({ ...t.running.ctx, metrics: new Metrics() }, all);
    const { 'x-tagGroups': groups } = (await app.inject('/docs/openapi.json')).json();
    expect(groups[0].name).toBe(group);
    expect(new Set(groups.map(({ name }: { name: string }) => name)).size).toBe(4);
    expect((await app.inject('/docs')).body).toContain(`preferredSecurityScheme: '${scheme}'`);
    await app.close();
  });
});
