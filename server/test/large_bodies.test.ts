// Large responses: how often each is held, and which of them end when there is no more room.
import { once } from 'node:events';
import { afterEach, expect, test, vi } from 'vitest';
import { LargeBodies } from '../src/http/large_bodies.ts';
import { unreadAnswer } from './unread_answer.ts';

afterEach(() => vi.useRealTimers());

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
  vi.useFakeTimers({ toFake: ['performance'] });
  const bodies = new LargeBodies(10 * 1024 * 1024);
  const stalled = await unreadAnswer();
  bodies.read(bodies.share(megabytes(10), '"stalled"'), stalled.response).pipe(stalled.response);
  // It has just taken some.
  const refusal = expect.objectContaining({ status: 503, headers: { 'retry-after': '1' } });
  expect(() => bodies.share(megabytes(1), '"other"')).toThrow(refusal);
  vi.advanceTimersByTime(1001);
  expect(bodies.share(megabytes(1), '"other"').length).toBe(1024 * 1024);
  expect(stalled.response.destroyed).toBe(true);
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

test('however fast large responses are read, few slices of them go out in a turn of the event loop', async () => {
  const bodies = new LargeBodies(megabytes(64).length);
  const { response, stop } = await unreadAnswer();
  let inTurn = 0;
  let max = 0;
  let isOver = false;
  const count = () => {
    max = Math.max(max, inTurn);
    inTurn = 0;
    if (!isOver) setImmediate(count);
  };
  count();
  const body = bodies.share(megabytes(4), '"one"');
  const readers = Array.from({ length: 8 }, () =>
    bodies.read(body, response).on('data', () => {
      inTurn += 1;
    }),
  );
  await Promise.all(readers.map((reader) => once(reader, 'end')));
  isOver = true;
  count();
  // Four, and as many again where the end of one turn and the start of the next are counted
  // together.
  expect(max).toBeLessThanOrEqual(8);
  stop();
});

test('readers of one large response hold up no reader of another, and who waits for a turn is not taken for stalled', async () => {
  const bodies = new LargeBodies(4 * 1024 * 1024);
  const { response, stop } = await unreadAnswer();
  response.setMaxListeners(0);
  const other = await unreadAnswer();
  const many = bodies.share(megabytes(2), '"many"');
  const body = bodies.share(megabytes(2), '"one"');
  let ofMany = 0;
  const readers = Array.from({ length: 64 }, () =>
    bodies.read(many, response).on('data', () => {
      ofMany += 1;
    }),
  );
  const all = Promise.all(readers.map((reader) => once(reader, 'end')));
  const reader = bodies.read(body, other.response);
  reader.resume();
  await new Promise((resolve) => process.nextTick(resolve));
  // The event loop is held up by something else for longer than a client may stall.
  const until = performance.now() + 1100;
  while (performance.now() < until);
  expect(() => bodies.share(megabytes(4), '"large"')).toThrow('large responses');
  expect(other.response.destroyed).toBe(false);
  await once(reader, 'end');
  // The many read 64 times as much.
  expect(ofMany).toBeLessThan(64 * 32);
  await all;
  stop();
  other.stop();
});
