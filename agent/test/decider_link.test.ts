// The agent's end of the line to deciders, with deciders that a test plays: how it asks which authlist entries let somebody in.
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { type LastUsed, LastUsedTimes } from '../src/policy/last_used.ts';
import { DeciderLink } from '../src/squid/agent/decider_link.ts';
import { readLines } from '../src/squid/protocol.ts';

const cleaners: Array<() => unknown> = [];
afterEach(async () => {
  for (const clean of cleaners.splice(0).reverse()) await clean();
});

const at = 1_800_000_000;
const useOf = (entry: number): LastUsed => ({ account: 1, entry, at });

async function listen(): Promise<DeciderLink> {
  const dir = mkdtempSync(join(tmpdir(), 'exitward-decider-'));
  cleaners.push(() => rmSync(dir, { recursive: true, force: true }));
  const link = new DeciderLink(join(dir, 'agent.sock'), {
    onRevoked: () => {},
    onOpened: () => {},
    onLost: () => {},
    opened: () => [],
    unstored: () => [],
  });
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
  await decider(link, (most) => {
    const part = uses.take(most);
    parts.push(part.length);
    return part;
  });
  const taken = await link.takeLastUsed();
  expect(new Set(taken.map(({ entry }) => entry)).size).toBe(12_000);
  expect(parts).toEqual([5000, 5000, 2000]);
  expect(await link.takeLastUsed()).toEqual([]);
});

test('a decider that leaves tells what it noted, and it is known without any', async () => {
  const link = await listen();
  const socket = await decider(link, () => []);
  socket.end(`${JSON.stringify({ opened: [], uses: [useOf(1)] })}\n`);
  await once(socket, 'close');
  expect(await link.takeLastUsed()).toEqual([useOf(1)]);
  expect(await link.takeLastUsed()).toEqual([]);
});

test('a decider of an earlier version, which does not know the question, does no harm', async () => {
  const link = await listen();
  await decider(link, () => ({ verdict: { verdict: 'deny', reason: 'wrong_port' } }));
  expect(await link.takeLastUsed()).toEqual([]);
  expect(link.isConnected).toBe(true);
});

test('a decider that never comes to an end is asked so often, and what it made up is bounded', async () => {
  const link = await listen();
  let entries = 0;
  let asked = 0;
  await decider(link, (most) => {
    asked += 1;
    return Array.from({ length: most }, () => useOf(++entries));
  });
  expect((await link.takeLastUsed()).length).toBeLessThanOrEqual(250_000);
  expect(asked).toBe(50);
});
