// The connection log: its files, what it finds in them, and what it removes.
import {
  appendFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import type { UseQuestion } from '../../kit/src/node_interface.ts';
import { tries } from '../../test/effort.ts';
import { ConnectionLog } from '../src/connection_log/connection_log.ts';
import { type EndedUse, EndedUses, type ExitUse, type OpenUse } from '../src/exit_use.ts';
import { messagesOf } from './proxy_world.ts';

const day = 86_400;
const midnight = 20_000 * day;
const exitIp = '198.51.100.7';
const mode = 'destinations' as 'off' | 'sources' | 'destinations';

let folder: string;
let dir: string;
let now: number;
let steady: number;
let ended: EndedUse[];
let underWay: OpenUse[];
const logs: ConnectionLog[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'exitward-log-'));
  dir = join(folder, 'connections');
  [now, steady, ended, underWay] = [midnight + 1000, 0, [], []];
});
afterEach(async () => {
  for (const log of logs.splice(0)) await log.close();
  rmSync(folder, { recursive: true });
});

function openLog(settings: Partial<{ mode: typeof mode; days: number; max_bytes: number }> = {}) {
  const log = new ConnectionLog({
    ...{ dir, settings: { mode, days: 2, max_bytes: 2 ** 20, ...settings } },
    engine: {
      usesUnderWay: () => underWay,
      takeEndedUses: () => ({ uses: ended.splice(0), lost: 0 }),
    },
    clock: { now: () => now, steady: () => steady, sleep: async () => {} },
    log: pino({ level: 'silent' }),
  });
  logs.push(log);
  return log;
}

const pass = (seconds: number) => {
  now += seconds;
  steady += seconds;
};

const useOf = (change: Partial<ExitUse> = {}): ExitUse => ({
  ...{ service: 'proxy', account: 1, user: 2, address: '203.0.113.9', source_port: 50_000 },
  ...{ exit_ip: exitIp, exit_ports: { first: 40_000, last: 40_000 }, since: now },
  ...{ destination: 'www.example:443', dialled: '192.0.2.80' },
  ...change,
});

const find = async (log: ConnectionLog, change: Partial<UseQuestion> = {}) =>
  (await log.find({ exit_ip: exitIp, at: now, margin_seconds: 60, ...change })).uses;

/** Makes the disk accept only a part of each write, until the returned function is called. */
async function fillDisk(): Promise<() => void> {
  const handle = await open(join(folder, 'any'), 'w');
  const files: FileHandle = Object.getPrototypeOf(handle);
  await handle.close();
  const { appendFile } = files;
  files.appendFile = async function (this: FileHandle, bytes) {
    await appendFile.call(this, (bytes as Buffer).subarray(0, (bytes as Buffer).length >> 1));
    throw Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' });
  };
  const heal = () => {
    files.appendFile = appendFile;
  };
  onTestFinished(heal);
  return heal;
}

const filesOf = () => readdirSync(dir).filter((name) => name.endsWith('.log'));

test('what ended is found by exit, time, port and destination, and by no other', async () => {
  const log = openLog();
  ended.push({ ...useOf(), until: now + 5 });
  pass(10);
  const all = { ...useOf({ since: now - 10 }), until: now - 5, unknown: [] };
  expect(await find(log)).toEqual([all]);
  expect(await find(log, { port: 40_000 })).toEqual([all]);
  for (const host of ['www.example', 'WWW.example', '192.0.2.80']) {
    expect(await find(log, { destination: { host, port: 443 } })).toEqual([all]);
  }
  expect(await find(log, { destination: { host: 'www.example', port: 80 } })).toEqual([]);
  expect(await find(log, { destination: { host: 'www.other', port: 443 } })).toEqual([]);
  expect(await find(log, { port: 40_001 })).toEqual([]);
  expect(await find(log, { exit_ip: '198.51.100.8' })).toEqual([]);
  expect(await find(log, { at: now + 56 })).toEqual([]);
  expect(await find(log, { at: now - 71 })).toEqual([]);
});

test('a use is found while it is open, after the agent was killed, and for as long as it lasted', async () => {
  const began = now;
  underWay = [{ ...useOf(), key: 'a.1' }];
  const first = openLog();
  await first.write();
  pass(3600);
  expect(await find(first)).toEqual([{ ...useOf({ since: began }), unknown: [] }]);
  // Killed: it is never closed, and another agent starts.
  const second = openLog();
  underWay = [];
  expect(await find(second, { at: began + 1800 })).toMatchObject([{ since: began }]);
  ended.push({ ...useOf(), until: now });
  await second.write();
  pass(600);
  expect(await find(second, { at: began + 1800 })).toMatchObject([
    { since: began, until: now - 600 },
  ]);
  expect(await find(second)).toEqual([]);
});

test('of a use that ends with details of its own, these remain', async () => {
  const log = openLog();
  underWay = [{ ...useOf({ exit_ports: undefined }), key: 'squid-1', is_provisional: true }];
  await log.write();
  expect(await find(log, { port: 40_000 })).toMatchObject([{ unknown: ['port'] }]);
  pass(30);
  underWay = [];
  ended.push({ ...useOf({ since: now - 30 }), until: now });
  await log.write();
  expect(await find(log, { port: 40_000 })).toMatchObject([{ unknown: [], until: now }]);
  expect(await find(log, { port: 40_001 })).toEqual([]);
});

test('a use over midnight is found on both days, from the file of each', async () => {
  now = midnight - 10;
  underWay = [
    { ...useOf(), key: 'a.1' },
    { ...useOf({ user: 3 }), key: 'a.2' },
  ];
  const log = openLog();
  await log.write();
  pass(20);
  const [, second] = underWay as [OpenUse, OpenUse];
  underWay = [second];
  ended.push({ ...useOf({ since: midnight - 10 }), until: midnight + 5, key: 'a.1' });
  await log.write();
  expect(filesOf()).toHaveLength(2);
  const users = async (at: number) =>
    (await find(log, { at, margin_seconds: 0 })).map(({ user, until }) => [user, until]);
  const both = [
    [2, midnight + 5],
    [3, undefined],
  ];
  expect(await users(midnight - 5)).toEqual(both);
  expect(await users(midnight)).toEqual(both);
  expect(await users(midnight + 8)).toEqual([[3, undefined]]);
  underWay = [];
  pass(day);
  await log.write();
  rmSync(join(dir, filesOf()[0] as string));
  expect(await users(midnight + 8)).toEqual([[3, midnight + 10 + day]]);
});

test('without destinations none is written, and off nothing is', async () => {
  const log = openLog({ mode: 'sources' });
  ended.push({ ...useOf(), until: now });
  underWay = [{ ...useOf(), key: 'a.1' }];
  const [row] = await find(log, { destination: { host: 'www.example', port: 443 } });
  expect(row).toMatchObject({ unknown: ['destination'] });
  expect(readFileSync(join(dir, filesOf()[0] as string), 'utf8')).not.toMatch('www.example');
  rmSync(dir, { recursive: true });
  const off = openLog({ mode: 'off' });
  await off.write();
  await off.tidy();
  expect(await find(off)).toEqual([]);
  expect(readdirSync(folder)).toEqual([]);
});

test('its folder and files are for their owner alone', async () => {
  const log = openLog();
  ended.push({ ...useOf(), until: now });
  await log.write();
  expect(statSync(dir).mode & 0o777).toBe(0o700);
  expect(statSync(join(dir, filesOf()[0] as string)).mode & 0o777).toBe(0o600);
});

test('a file that is cut off anywhere answers with its complete lines, and takes more', async () => {
  const log = openLog();
  for (let user = 1; user <= 6; user += 1) {
    ended.push({ ...useOf({ user, account: user * 7 }), until: now });
    await log.write();
  }
  await log.close();
  const path = join(dir, filesOf()[0] as string);
  const whole = readFileSync(path);
  const lineEnds = [...whole.keys()].filter((at) => whole[at] === 0x0a);
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 0, max: whole.length }),
      fc.constantFrom('', '\0\0\0', 'garbage'),
      async (cut, junk) => {
        rmSync(path, { force: true });
        appendFileSync(path, whole, { mode: 0o600 });
        truncateSync(path, cut);
        appendFileSync(path, junk);
        const next = openLog();
        ended.push({ ...useOf({ user: 99 }), until: now });
        const users = (await find(next)).map(({ user }) => user);
        // The first line says that an agent started.
        const complete = lineEnds.filter((at) => at < cut || (at === cut && junk === '')).length;
        const expected = Array.from({ length: Math.max(0, complete - 1) }, (_, at) => at + 1);
        expect(users.filter((user) => user !== 99)).toEqual(expected);
        expect(users).toContain(99);
        await next.close();
      },
    ),
    { numRuns: tries(30) },
  );
});

test('a day is removed the set number of days after its end, and not because the clock jumped', async () => {
  const log = openLog({ days: 2 });
  ended.push({ ...useOf(), until: now });
  await log.write();
  const start = midnight;
  pass(start + 3 * day - 1 - now);
  await log.tidy();
  expect(filesOf()).toHaveLength(1);
  // The clock jumps by a year, without time passing. A wrong clock must not remove files.
  now += 365 * day;
  await log.tidy();
  expect(filesOf()).toHaveLength(1);
  now -= 365 * day;
  await log.tidy();
  pass(3601);
  await log.tidy();
  expect(filesOf()).toEqual([]);
});

test('full, it removes its oldest days, then drops what is new; each is a fault, and none is silent', async () => {
  const log = openLog({ days: 30, max_bytes: 20_000 });
  const fill = async (uses: number) => {
    for (let user = 1; user <= uses; user += 1) ended.push({ ...useOf({ user }), until: now });
    await log.write();
  };
  await fill(80);
  pass(day);
  await fill(80);
  expect(messagesOf(log)).toEqual([]);
  pass(day);
  await fill(80);
  expect(filesOf()).toHaveLength(2);
  expect(messagesOf(log)).toEqual([expect.stringMatching(/removed early/)]);
  await fill(200);
  await fill(200);
  expect(filesOf()).toHaveLength(1);
  expect(messagesOf(log)).toEqual([
    expect.stringMatching(/^\d+ connections since .* are missing from the connection log/),
    expect.stringMatching(/removed early/),
  ]);
  expect((await find(log)).length).toBeGreaterThan(79);
});

test('a person who is erased is in no file, is not found, and is not written again', async () => {
  const log = openLog();
  underWay = [{ ...useOf(), key: 'a.1' }];
  ended.push(
    { ...useOf({ address: '203.0.113.10' }), until: now },
    { ...useOf({ user: 3, address: '203.0.113.11' }), until: now },
  );
  await log.write();
  pass(day);
  ended.push({ ...useOf({ address: '203.0.113.12' }), until: now });
  await log.write();
  await log.erase(['1 2']);
  ended.push({ ...useOf(), until: now });
  underWay = [];
  await log.write();
  const text = filesOf()
    .map((name) => readFileSync(join(dir, name), 'utf8'))
    .join('');
  expect(text).toMatch('203.0.113.11');
  for (const end of [9, 10, 12]) expect(text).not.toMatch(`203.0.113.${end} `);
  for (const name of filesOf()) expect(statSync(join(dir, name)).mode & 0o777).toBe(0o600);
  expect(await find(log, { at: now - day })).toMatchObject([{ user: 3 }]);
  expect(await find(openLog())).toEqual([]);
});

test('an erasure that was interrupted is completed by the next agent', async () => {
  const log = openLog();
  ended.push({ ...useOf(), until: now });
  await log.write();
  await log.close();
  // The state after a power cut during an erasure.
  appendFileSync(join(dir, 'erased.json'), JSON.stringify({ people: ['1 2'], pending: ['1 2'] }), {
    mode: 0o600,
  });
  const next = openLog();
  expect(await find(next)).toEqual([]);
  await next.tidy();
  for (const name of filesOf()) {
    expect(readFileSync(join(dir, name), 'utf8')).not.toMatch('203.0.113.9');
  }
  expect(JSON.parse(readFileSync(join(dir, 'erased.json'), 'utf8'))).toEqual({
    ...{ people: ['1 2'], pending: [] },
  });
});

test('an erasure that fails, or that a power cut ends, leaves no lines of anyone behind', async () => {
  const log = openLog();
  for (const user of [2, 3]) ended.push({ ...useOf({ user }), until: now });
  await log.write();
  const namesOf = () => readdirSync(dir).sort();
  const [today = ''] = filesOf();
  const heal = await fillDisk();
  for (let times = 0; times < 3; times += 1) await expect(log.erase(['1 2'])).rejects.toThrow();
  expect(namesOf()).toEqual([today, 'erased.json']);
  heal();
  const leave = () => {
    for (const name of [today, '1999-12-31.log', 'erased.json']) {
      writeFileSync(join(dir, `${name}.0123456789ab.unfinished`), readFileSync(join(dir, today)));
    }
  };
  leave();
  await log.erase(['1 2']);
  expect(namesOf()).toEqual([today, 'erased.json']);
  leave();
  await openLog({ mode: 'off' }).tidy();
  expect(namesOf()).toEqual([today, 'erased.json']);
  expect(readFileSync(join(dir, today), 'utf8')).toMatch(' 1 3 ');
});

test('connections that end faster than they are written are counted, and no more are held', () => {
  const uses = new EndedUses(true);
  for (let at = 0; at < 100_003; at += 1) uses.note({ ...useOf(), until: now });
  const { uses: held, lost } = uses.take();
  expect([held.length, lost]).toEqual([100_000, 3]);
  const off = new EndedUses(false);
  off.note({ ...useOf(), until: now });
  expect(off.take()).toEqual({ uses: [], lost: 0 });
});

test.each([true, false])(
  'a use that ends on a day whose file is full has ended then, for this agent and the next; the engine reports its end: %s',
  async (isReported) => {
    const settings = { max_bytes: 3000 };
    const log = openLog(settings);
    const began = now;
    underWay = [
      { ...useOf(), key: 'a.1' },
      { ...useOf({ user: 4 }), key: 'squid-1', is_provisional: true },
    ];
    await log.write();
    pass(60);
    for (let user = 10; user < 60; user += 1) ended.push({ ...useOf({ user }), until: now });
    await log.write();
    for (let user = 60; user < 100; user += 1) {
      ended.push({ ...useOf({ user }), until: now });
      await log.write();
    }
    expect(messagesOf(log)).toEqual([
      expect.stringMatching(/^6\d connections since .* are missing from the connection log/),
    ]);
    pass(3600);
    const end = now;
    underWay = [{ ...useOf({ user: 5 }), key: 'a.2' }];
    if (isReported) ended.push({ ...useOf({ since: began }), until: now, key: 'a.1' });
    await log.write();
    pass(3600);
    const usersOf = async (of: ConnectionLog, at: number) =>
      (await find(of, { at })).map(({ user, until }) => [user, until]);
    expect(await usersOf(log, now)).toEqual([]);
    expect(await usersOf(log, end - 1000)).toEqual([[2, end]]);
    expect(await usersOf(openLog(settings), now)).toEqual([]);
    underWay = [];
    pass(day);
    await log.write();
    expect(await usersOf(log, end + 3600)).toEqual([]);
    expect(await usersOf(log, end - 1000)).toEqual([[2, end]]);
    expect(statSync(join(dir, filesOf()[0] as string)).size).toBeLessThanOrEqual(3000);
  },
);

test('a use that is gone while the disk takes nothing ended when that was first seen', async () => {
  const log = openLog();
  underWay = [{ ...useOf({ service: 'vpn-ikev2' }), key: 'vpn-1' }];
  await log.write();
  const [began, heal] = [now, await fillDisk()];
  pass(100);
  underWay = [];
  await log.write();
  pass(1000);
  expect(await find(log)).toEqual([]);
  expect(await find(log, { at: began })).toMatchObject([{ until: began + 100 }]);
  // After midnight the use is written with all its details.
  pass(day);
  heal();
  await log.write();
  expect(await find(log, { at: began + 1100 })).toEqual([]);
  expect(await find(log, { at: began })).toMatchObject([{ until: began + 100 }]);
});

test('uses of an agent that was killed are over when the next one starts, also if that writes nothing', async () => {
  underWay = [{ ...useOf(), key: 'a.1' }];
  await openLog().write();
  const began = now;
  pass(day);
  underWay = [];
  for (const mode of ['off', 'sources'] as const) {
    const next = openLog({ mode });
    pass(3600);
    expect(await find(next)).toEqual([]);
    expect(await find(next, { at: began })).toMatchObject([{ until: began + day }]);
    pass(-3600);
  }
});

test('a use is listed on each day, also if the first lines of a day could not be written', async () => {
  underWay = [{ ...useOf(), key: 'a.1' }];
  const log = openLog();
  await log.write();
  pass(day);
  const heal = await fillDisk();
  await log.write();
  heal();
  await log.write();
  rmSync(join(dir, filesOf()[0] as string));
  expect(await find(log)).toMatchObject([{ user: 2 }]);
});

test('a disk that takes nothing is a fault, and what waited is written later', async () => {
  const log = openLog();
  const blocked = join(folder, 'connections');
  appendFileSync(blocked, 'a file in the way');
  ended.push({ ...useOf(), until: now });
  await log.write();
  expect(messagesOf(log)).toEqual([expect.stringMatching(/can't be written/)]);
  rmSync(blocked);
  expect(await find(log)).toMatchObject([{ user: 2 }]);
  expect(messagesOf(log)).toEqual([]);
});
