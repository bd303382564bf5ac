// Whether the server is away, and since when.
import { expect, test, vi } from 'vitest';

vi.stubGlobal('sessionStorage', { getItem: () => null });
const { offlineSince } = await import('../src/api/outage.ts');
const { call } = await import('../src/api/api.ts');
const { now } = await import('../src/now.ts');

const answer = (status: number, body: string, type = 'application/json') =>
  vi.stubGlobal(
    'fetch',
    async () => new Response(body, { status, headers: { 'content-type': type } }),
  );
const ask = () => call('console_get_facts', {}).catch(() => undefined);

test('the server is away since it was last heard of, until it answers again, be it with an error', async () => {
  const started = now.value;
  answer(200, '{}');
  await ask();
  expect(offlineSince.value).toBeUndefined();
  vi.stubGlobal('fetch', () => Promise.reject(new TypeError('Failed to fetch')));
  now.value = started + 60;
  await ask();
  now.value = started + 120;
  await ask();
  expect(offlineSince.value).toBe(started);
  answer(503, '{"message":"Maintenance.","code":"maintenance"}');
  await ask();
  expect(offlineSince.value).toBeUndefined();
});

test('a proxy that answers for a server that is away is not taken for it', async () => {
  answer(502, '<html>Bad Gateway</html>', 'text/html');
  await ask();
  expect(offlineSince.value).toBe(now.value);
  answer(200, '{}');
  await ask();
  expect(offlineSince.value).toBeUndefined();
});
