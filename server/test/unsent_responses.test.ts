// Responses of /v0 whose body is not sent: they take no room of large responses, and end none.
import Fastify from 'fastify';
import { afterEach, expect, test, vi } from 'vitest';
import { ResponseCache } from '../src/api/account/response_cache.ts';
import { respond } from '../src/api/account/responses.ts';
import { LargeBodies } from '../src/http/large_bodies.ts';
import { unreadAnswer } from './unread_answer.ts';

afterEach(() => vi.useRealTimers());

test('while others leave no room, HEAD gets 200, an unchanged list 304, another version 412', async () => {
  const bodies = new LargeBodies(0);
  const cache = new ResponseCache({ config: { cache_bytes: 0 } } as never, bodies, undefined);
  const app = Fastify({ exposeHeadRoutes: true });
  app.get('/list', (request, reply) => {
    request.session = { authorization: '' } as never;
    return respond({ bodies, cache } as never, request, reply, 'x'.repeat(1024 * 1024));
  });
  const ask = async (method: 'GET' | 'HEAD', headers: Record<string, string> = {}) => {
    const { statusCode, headers: answered } = await app.inject({ method, url: '/list', headers });
    return { status: statusCode, etag: String(answered.etag) };
  };
  const { etag } = await ask('GET');
  // However long the machine takes here: a response that stalls for a second would give way.
  vi.useFakeTimers({ toFake: ['performance'] });
  const { response, stop } = await unreadAnswer();
  bodies.read(bodies.share('y'.repeat(10 * 1024 * 1024), '"other"'), response).pipe(response);
  expect((await ask('GET')).status).toBe(503);
  expect(await ask('HEAD')).toEqual({ status: 200, etag });
  expect((await ask('GET', { 'if-none-match': etag })).status).toBe(304);
  expect((await ask('GET', { 'if-match': '"another"' })).status).toBe(412);
  expect(response.destroyed).toBe(false);
  stop();
  await app.close();
});
