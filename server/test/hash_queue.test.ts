// The password-hash queue: two at work, turns between prefixes and accounts, and places for the
// known.
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { ApiError } from '../src/errors.ts';
import { inHashQueue, type Place } from '../src/sign_in/hash_queue.ts';

let places = 0;
/** A place that none had before. */
const newPlace = (more: Partial<Place> = {}): Place => {
  places += 1;
  return { prefix: `prefix ${places}`, account: `account ${places}`, isKnown: false, ...more };
};
const isRefused = { status: 503, headers: { 'retry-after': '2' } };

/**
 * A queue in which two are at work until `step` lets one of them go; `begun` lists who began, in
 * that order.
 */
function heldQueue() {
  const begun: string[] = [];
  const working: Array<() => void> = [];
  const all: Array<Promise<unknown>> = [];
  const enter = (name: string, place: Place) => {
    const done = inHashQueue(place, async () => {
      begun.push(name);
      await new Promise<void>((leave) => working.push(leave));
    });
    all.push(done.catch(() => {}));
    return done.then(
      () => name,
      (error: unknown) => error,
    );
  };
  const step = async () => {
    working.shift()?.();
    await sleep(0);
  };
  const finish = async () => {
    while (working.length > 0) await step();
    await Promise.all(all);
  };
  void enter('first', newPlace());
  void enter('second', newPlace());
  return { begun, enter, step, finish };
}

test('two passwords are hashed at a time, thirty wait, and the next one is sent away', async () => {
  let [now, max, done] = [0, 0, 0];
  const work = (place = newPlace()) =>
    inHashQueue(place, async () => {
      now += 1;
      max = Math.max(max, now);
      await sleep(2);
      now -= 1;
      done += 1;
    });
  const outcomes = Array.from({ length: 32 }, () => work());
  const refused = await work().catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(ApiError);
  expect(refused).toMatchObject(isRefused);
  await Promise.all(outcomes);
  expect([max, done]).toEqual([2, 32]);
  // A failure leaves its place as well.
  const broken = inHashQueue(newPlace(), () => Promise.reject(new Error('broken')));
  await expect(broken).rejects.toThrow('broken');
  await Promise.all([work(), work(), work()]);
  expect([max, now]).toEqual([2, 0]);
  // Of one prefix four wait, beside others.
  const here = () => work(newPlace({ prefix: 'here' }));
  const crowd = Array.from({ length: 6 }, here);
  await expect(here()).rejects.toMatchObject({ status: 503 });
  await Promise.all([...crowd, work()]);
});

test('the known have thirty places of their own and go first; one of the others comes behind each three', async () => {
  const { begun, enter, finish } = heldQueue();
  for (let at = 0; at < 30; at++) void enter('unknown', newPlace());
  expect(await enter('unknown', newPlace())).toMatchObject(isRefused);
  for (let at = 0; at < 30; at++) void enter('known', newPlace({ isKnown: true }));
  expect(await enter('known', newPlace({ isKnown: true }))).toMatchObject(isRefused);
  await finish();
  const order = begun.slice(2).map((name) => (name === 'known' ? 'k' : 'u'));
  expect(order.join('')).toMatch(/^(kkku){10}u{20}$/);
});

test('prefixes take turns, and accounts do', async () => {
  for (const shared of ['prefix', 'account'] as const) {
    const { begun, enter, finish } = heldQueue();
    const crowd = () => newPlace({ [shared]: `${shared} of many` });
    for (let at = 0; at < 4; at++) void enter('crowd', crowd());
    for (let at = 0; at < 3; at++) void enter('other', newPlace());
    await finish();
    const last = ['crowd', 'other', 'other', 'other', 'crowd', 'crowd', 'crowd'];
    expect([shared, ...begun.slice(2)]).toEqual([shared, ...last]);
  }
});

test('one of many of an account gives way to one whose turn is nearer', async () => {
  const { begun, enter, step, finish } = heldQueue();
  const crowd = () => enter('crowd', newPlace({ account: 'account of a crowd' }));
  const outcomes = Array.from({ length: 30 }, crowd);
  const other = newPlace();
  expect(await enter('other', other)).toMatchObject(isRefused);
  await step();
  outcomes.push(crowd());
  // The crowd has had a turn since the first try.
  void enter('other', other);
  await finish();
  expect(begun.slice(0, 5)).toEqual(['first', 'second', 'crowd', 'other', 'crowd']);
  const refused = (await Promise.all(outcomes)).filter((outcome) => outcome instanceof ApiError);
  expect(refused).toEqual([expect.objectContaining(isRefused)]);
});

test('who is refused comes nearer with each try, though new prefixes keep coming', async () => {
  const { enter, step, finish } = heldQueue();
  for (let at = 0; at < 30; at++) void enter('crowd', newPlace());
  const place = newPlace();
  let isIn = false;
  let tries = 0;
  while (!isIn) {
    tries += 1;
    void enter('victim', place).then((outcome) => {
      if (outcome === 'victim') isIn = true;
    });
    await step();
    // A place that gets free is taken before the victim tries again.
    for (let at = 0; at < 3; at++) void enter('crowd', newPlace());
    for (let at = 0; at < 31 && !isIn && tries > 1; at++) {
      await step();
      void enter('crowd', newPlace());
    }
    expect(tries).toBeLessThan(4);
  }
  await finish();
});
