// The agent's side of the connection to deciders, which the test plays: how it asks them, and what
// other programs can do there.
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterEach, describe, expect, test, vi } from 'vitest';
import type { Authority } from '../src/policy/decision.ts';
import { type LastUsed, LastUsedTimes } from '../src/policy/last_used.ts';
import { DeciderLink, DeciderSilent, type LinkEvents } from '../src/squid/agent/decider_link.ts';
import { type Opened, readLines } from '../src/squid/protocol.ts';

const cleaners: Array<() => unknown> = [];
afterEach(async () => {
  for (const clean of cleaners.splice(0).reverse()) await clean();
});

const log = pino({ level: 'silent' });
const at = 1_800_000_000;
const useOf = (entry: number): LastUsed => ({ account: 1, entry, at });

async function listen(events: Partial<LinkEvents> = {}): Promise<DeciderLink> {
  const dir = mkdtempSync(join(tmpdir(), 'exitward-decider-'));
  cleaners.push(() => rmSync(dir, { recursive: true, force: true }));
  const none: LinkEvents = {
    onRevoked: () => {},
    onOpened: () => {},
    onLost: () => {},
    opened: () => [],
    unstored: () => [],
  };
  const link = new DeciderLink(join(dir, 'agent.sock'), { ...none, ...events }, log);
  await link.listen(undefined);
  cleaners.push(() => link.close());
  return link;
}

/** A decider that responds to every question as the test says. */
async function decider(link: DeciderLink, answer: (question: number) => unknown) {
  const socket = connect(link.path);
  readLines(socket, (line) => {
    const { id, question } = JSON.parse(line);
    socket.write(`${JSON.stringify({ id, answer: answer(question) })}\n`);
  });
  await once(socket, 'connect');
  await link.connected(1000);
  return socket;
}

test('what a decider notes is taken whole, a part at a time', async () => {
  const link = await listen();
  const uses = new LastUsedTimes();
  uses.add(Array.from({ length: 12_000 }, (_, index) => useOf(index + 1)));
  const parts: number[] = [];
  await decider(link, (max) => {
    const part = uses.take(max);
    parts.push(part.length);
    return part;
  });
  const noted = await link.takeLastUsed();
  expect(new Set(noted.map(({ entry }) => entry)).size).toBe(12_000);
  expect(parts).toEqual([5000, 5000, 2000]);
  expect(await link.takeLastUsed()).toEqual([]);
});

test('a decider that leaves reports what it noted, and it is known without any', async () => {
  const link = await listen();
  const socket = await decider(link, () => []);
  socket.end(`${JSON.stringify({ opened: [], uses: [useOf(1)] })}\n`);
  await once(socket, 'close');
  expect(await link.takeLastUsed()).toEqual([useOf(1)]);
  expect(await link.takeLastUsed()).toEqual([]);
});

test('what a decider refused is known as it says it, and what makes no sense is not', async () => {
  const link = await listen();
  const socket = await decider(link, () => []);
  const of = { source: '192.0.2.7', service: 'proxy', port: 10_001, at: 60, count: 1 };
  const [sound, leaving] = ['unknown_address', 'drained'].map((reason) => ({ ...of, reason }));
  socket.write(`${JSON.stringify({ refused: [sound, { ...of, reason: 'odd' }] })}\n`);
  socket.end(`${JSON.stringify({ opened: [], refused: [leaving] })}\n`);
  await once(socket, 'close');
  expect(link.takeRefusals()).toEqual([sound, leaving]);
  expect(link.takeRefusals()).toEqual([]);
});

test('a decider that responds with something else does no harm', async () => {
  const link = await listen();
  await decider(link, () => ({ verdict: { verdict: 'deny', reason: 'wrong_port' } }));
  expect(await link.takeLastUsed()).toEqual([]);
  expect(link.isConnected).toBe(true);
});

test('a decider that never comes to an end is asked so often, and what it made up is bounded', async () => {
  const link = await listen();
  let entries = 0;
  let requests = 0;
  await decider(link, (max) => {
    requests += 1;
    return Array.from({ length: max }, () => useOf(++entries));
  });
  expect((await link.takeLastUsed()).length).toBeLessThanOrEqual(250_000);
  expect(requests).toBe(50);
});

describe('what is no decider, and has the right to connect,', () => {
  const connectTo = ({ path }: DeciderLink) => connect(path).on('error', () => {});
  const isClosed = (socket: Socket) => {
    socket.resume();
    return new Promise<void>((resolve) => {
      if (socket.closed) resolve();
      else socket.once('close', () => resolve());
    });
  };

  test('makes room for the newest when there are many', async () => {
    const link = await listen();
    const rogues: Socket[] = [];
    for (let n = 0; n < 50; n++) {
      rogues.push(connectTo(link));
      await once(rogues.at(-1) as Socket, 'connect');
    }
    await decider(link, () => []);
    await Promise.all(rogues.slice(0, 43).map(isClosed));
    expect(rogues.filter(({ closed }) => !closed).length).toBe(7);
  });

  test('is cut off when it sends a message without an end', async () => {
    const link = await listen();
    const rogue = connectTo(link);
    const piece = 'x'.repeat(1024 * 1024);
    let sent = 0;
    const closed = isClosed(rogue);
    for (; sent < 100 && !rogue.closed; sent++) {
      await new Promise((resolve) => rogue.write(piece, resolve));
    }
    await closed;
    expect(sent).toBeLessThan(64);
    expect(link.isConnected).toBe(false);
  });

  test('is cut off when it sends too many messages', async () => {
    let answers = 0;
    const link = await listen({
      onOpened: () => {
        answers += 1;
      },
    });
    const rogue = connectTo(link);
    rogue.write(`${JSON.stringify({ opened: [] })}\n`.repeat(20_000));
    await isClosed(rogue);
    expect(answers).toBe(1000);
  });

  test('is cut off when it does not answer, and the next question is answered by the others', async () => {
    const link = await listen();
    const rogue = connectTo(link);
    await link.connected(1000);
    await decider(link, () => []);
    await expect(link.ask('catch_up', undefined)).rejects.toThrow(DeciderSilent);
    await isClosed(rogue);
    expect(await link.ask('catch_up', undefined)).toEqual([[]]);
  });

  test('is cut off when it does not read what it is sent', async () => {
    const owner: Authority = { by: 'authlist', account: 1, user: 1, entry: 1, ip: '192.0.2.1' };
    const opened = Array.from({ length: 20_000 }, (_, n): Opened[number] => [`${n}`, owner]);
    const maxBytes = 50 * 1024 * 1024;
    let answers = 0;
    const link = await listen({
      onOpened: () => {
        answers += 1;
      },
    });
    const rogue = connectTo(link);
    rogue.pause();
    await once(rogue, 'connect');
    // Another process relays to the decider.
    const teller = connectTo(link);
    const line = `${JSON.stringify({ opened })}\n`;
    for (let n = 0; n < maxBytes / line.length; n++) {
      await new Promise((resolve) => teller.write(line, resolve));
    }
    await vi.waitFor(() => expect(answers * line.length).toBeGreaterThan(maxBytes), {
      timeout: 90_000,
    });
    await isClosed(rogue);
    expect(rogue.bytesRead).toBeLessThan(40 * 1024 * 1024);
  });
});

test('the decisions that a decider reports are added up, as far as they are counts under a known name', async () => {
  const link = await listen();
  const answers = async (message: object) => {
    const socket = connect(link.path);
    await once(socket, 'connect');
    socket.end(`${JSON.stringify(message)}\n`);
    await once(socket, 'close');
  };
  const { took } = link.decisions.counts;
  const buckets = took.map((_, bucket) => (bucket === 3 ? 2 : 0));
  const decided = { outcomes: { authlist: 2, stale: 1 }, took: buckets, seconds: 0.5 };
  await answers({ decided });
  await answers({ opened: [], decided });
  await answers({
    decided: { outcomes: { 'x"} 1\nup 0': 5, token: -3, probe: 1e300 }, took: [1], seconds: 'x' },
  });
  await answers({ policy: { accounts: 3, users: 4, authlist: 5, overrides: 6, more: 7 } });
  await expect
    .poll(() => [link.decisions.counts, link.policy_size])
    .toEqual([
      {
        outcomes: { authlist: 4, stale: 2 },
        took: buckets.map((count) => 2 * count),
        seconds: 1,
      },
      { accounts: 3, users: 4, authlist: 5, overrides: 6 },
    ]);
  await answers({ policy: { accounts: -1, users: 0, authlist: 0, overrides: 0 } });
  await expect.poll(() => link.policy_size).toBe(undefined);
  expect(link.isConnected).toBe(false);
});
