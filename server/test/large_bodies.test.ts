// Large responses: how often each is held, and which of them end when there is no more room.
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { LargeBodies } from '../src/http/large_bodies.ts';
import { unreadAnswer } from './unread_answer.ts';

const megabytes = (count: number) => 'x'.repeat(count * 1024 * 1024);

test('equal responses that are being read at the same time are one', async () => {
  const bodies = new LargeBodies(0);
  const { response, read, stop } = await unreadAnswer();
  const first = bodies.share(megabytes(1), '"one"');
  bodies.read(first, response).pipe(response);
  expect(bodies.share(megabytes(1), '"one"')).toBe(first);
  read();
  await expect.poll(() => bodies.share(megabytes(1), '"one"') === first).toBe(false);
  stop();
});

test('without room a response that was not read for a second is ended, and one that is read is not', async () => {
  const bodies = new LargeBodies(10 * 1024 * 1024);
  const stalled = await unreadAnswer();
  bodies.read(bodies.share(megabytes(10), '"stalled"'), stalled.response).pipe(stalled.response);
  // It has just taken some.
  expect(() => bodies.share(megabytes(1), '"other"')).toThrow('large responses');
  await expect.poll(() => bodies.share(megabytes(1), '"other"').length).toBe(1024 * 1024);
  await expect.poll(() => stalled.response.destroyed).toBe(true);
  stalled.stop();
});

test('a response whose client has gone already holds nothing', async () => {
  const bodies = new LargeBodies(10 * 1024 * 1024);
  const { response, stop } = await unreadAnswer();
  const body = bodies.share(megabytes(10), '"gone"');
  const closed = once(response, 'close');
  stop();
  await closed;
  bodies.read(body, response).pipe(response);
  expect(bodies.share(megabytes(10), '"other"').length).toBe(10 * 1024 * 1024);
});
