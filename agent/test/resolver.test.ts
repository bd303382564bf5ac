// Names to addresses: which servers are asked, and how long a response is cached.
import { afterAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { Clock } from '../src/clock.ts';
import { Resolver } from '../src/resolver.ts';
import { type Names, nameServerIp, startNameServer } from './proxy_world.ts';

let steady = 0;
/** Ends the patience with silent servers. */
let losePatience: () => void = () => {};
const clock: Clock = {
  now: () => 0,
  steady: () => steady,
  sleep: (seconds, signal) =>
    new Promise((resolve) => {
      expect(seconds).toBeLessThanOrEqual(5);
      losePatience = resolve;
      signal?.addEventListener('abort', () => resolve());
    }),
};
let queries = 0;
const names: Names = new Map<string, () => string[] | Promise<string[]>>([
  [
    'www.example',
    () => {
      queries += 1;
      return queries === 1 ? ['192.0.2.1', '192.0.2.2'] : ['192.0.2.3'];
    },
  ],
]);
const [brief, long] = [
  await startNameServer(names, { ip: nameServerIp, port: 0, ttl_seconds: 20 }),
  await startNameServer(names, { ip: nameServerIp, port: 0, ttl_seconds: 250 }),
];
afterAll(() => {
  brief.stop();
  long.stop();
});
beforeEach(() => {
  steady = 1000;
  queries = 0;
});

describe('a name', () => {
  test('has all its addresses of one family, in any spelling, and no others', async () => {
    const resolver = new Resolver([brief.address], clock);
    expect(await resolver.resolve('WWW.Example', 4)).toEqual(['192.0.2.1', '192.0.2.2']);
    expect(queries).toBe(1);
    // The name exists, but has only other records.
    expect(await resolver.resolve('www.example', 6)).toEqual([]);
  });

  test.each([
    ['as it says', brief, 20],
    ['a minute at most', long, 60],
  ])('is asked for again after as long %s', async (_, server, seconds) => {
    const resolver = new Resolver([server.address], clock);
    const first = await resolver.resolve('www.example', 4);
    steady += seconds - 1;
    expect(await resolver.resolve('www.EXAMPLE', 4)).toEqual(first);
    steady += 1;
    expect(await resolver.resolve('www.example', 4)).toEqual(['192.0.2.3']);
    expect(queries).toBe(2);
  });

  test('that is not there is none, until it is', async () => {
    const resolver = new Resolver([brief.address], clock);
    expect(await resolver.resolve('new.example', 4)).toBe('unresolved');
    names.set('new.example', () => ['192.0.2.9']);
    expect(await resolver.resolve('new.example', 4)).toEqual(['192.0.2.9']);
  });

  test('is given up within five seconds, all its servers together, and asked for again the next time', async () => {
    let isSilent = true;
    names.set('slow.example', () => (isSilent ? new Promise(() => {}) : ['192.0.2.8']));
    const resolver = new Resolver([brief.address, long.address], clock);
    const resolving = resolver.resolve('slow.example', 4);
    losePatience();
    expect(await resolving).toBe('no_name_server');
    isSilent = false;
    expect(await resolver.resolve('slow.example', 4)).toEqual(['192.0.2.8']);
  });

  test('is asked for at the next server when one is silent', async () => {
    const silent = await startNameServer(new Map(), { ip: nameServerIp, port: 0 });
    silent.stop();
    const resolver = new Resolver([silent.address, brief.address], clock);
    expect(await resolver.resolve('www.example', 4)).toEqual(['192.0.2.1', '192.0.2.2']);
  });

  test.each([
    ['fails', 2],
    ['does not know the question', 4],
    ['refuses to serve this machine', 5],
  ])('is asked for at the next server when one %s', async (_, response_code) => {
    const options = { ip: nameServerIp, port: 0, response_code };
    const failing = await startNameServer(new Map(), options);
    onTestFinished(() => failing.stop());
    const resolver = new Resolver([failing.address, brief.address], clock);
    expect(await resolver.resolve('www.example', 4)).toEqual(['192.0.2.1', '192.0.2.2']);
    expect(await resolver.resolve('www.example', 6)).toEqual([]);
    expect(await resolver.resolve('no.example', 4)).toBe('unresolved');
    expect(await new Resolver([failing.address], clock).resolve('www.example', 4)).toBe(
      'unresolved',
    );
  });

  test('that the first server knows is not there is not asked for at the next', async () => {
    const empty = await startNameServer(new Map(), { ip: nameServerIp, port: 0 });
    onTestFinished(() => empty.stop());
    const resolver = new Resolver([empty.address, brief.address], clock);
    expect(await resolver.resolve('www.example', 4)).toBe('unresolved');
    expect(queries).toBe(0);
  });

  test('has another failure than an unknown name if no server is there to ask', async () => {
    const absent = await startNameServer(new Map(), { ip: nameServerIp, port: 0 });
    absent.stop();
    const resolver = new Resolver([absent.address], clock);
    expect(await resolver.resolve('www.example', 4)).toBe('no_name_server');
    expect(await resolver.resolve('www.example', 6)).toBe('no_name_server');
  });
});
