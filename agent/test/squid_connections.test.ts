// The life of a client connection of Squid, without a Squid: its states, and its usage, compared
// with a model that opens, reuses and ends connections at random.

import {
  appendFileSync,
  mkdtempSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { tries } from '../../test/effort.ts';
import type { Traffic } from '../src/engine.ts';
import type { Authority } from '../src/policy/decision.ts';
import { Sessions } from '../src/policy/sessions.ts';
import type { TrackedSquid } from '../src/squid/agent/connection.ts';
import { Connections } from '../src/squid/agent/connections.ts';
import { MeterLog, noteStart, parseMeterLine } from '../src/squid/agent/meter_log.ts';
import { Connections as LetIn } from '../src/squid/decider/connections.ts';
import type { Opened } from '../src/squid/protocol.ts';
import {
  killFilters,
  parseSockets,
  portFilter,
  type Socket,
  socketFilter,
} from '../src/squid/sockets.ts';

let dir: string;
let path: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'exitward-traffic-'));
  path = join(dir, 'access.log');
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const line = (source_port: number, owner: Owner | undefined, up: number, down: number) =>
  `1795253061.350 192.0.2.1 ${source_port} 11001 ${owner?.account ?? '-'} ${owner?.user ?? '-'} ${up} ${down} origin:40001 200 TCP_TUNNEL CONNECT\n`;
const nameOf = (source_port: number) => `192.0.2.1:${source_port}>11001`;
/** The line of connection 1, while bytes of it are counted ahead. */
const idOf = (cookie: string) => `${nameOf(1)} ${cookie} 0`;

interface Owner {
  account: number;
  user: number;
}
const authorityOf = (owner: Owner): Authority => ({
  by: 'authlist',
  ...owner,
  entry: 1,
  ip: '192.0.2.1',
});

/** The Squid of port 11001, whose decider reports at each list the owners that it knows. */
const trackedSquid = (ownerOf: (connection: string) => Owner | undefined): TrackedSquid => ({
  number: 0,
  log: new MeterLog(path, { datasync: async () => {} }),
  ports: [11001],
  tls_ports: new Set<number>(),
  async sendList(listed, take) {
    const opened = listed.flatMap((connection): Opened => {
      const owner = ownerOf(connection);
      return owner ? [[connection, authorityOf(owner)]] : [];
    });
    take(opened);
    return true;
  },
});

describe('the log', () => {
  test('a line names its connection, its owner and its bytes', () => {
    expect(parseMeterLine(line(4000, { account: 7, user: 3 }, 10, 20).trim())).toEqual({
      connection: nameOf(4000),
      port: 11001,
      owner: { account: 7, user: 3 },
      up: 10,
      down: 20,
      at: 1795253061,
    });
  });

  test('refused requests and checks of our own have no owner', () => {
    expect(parseMeterLine(line(4000, undefined, 10, 20).trim())?.owner).toBeUndefined();
    expect(parseMeterLine(line(4000, { account: 0, user: 0 }, 1, 2).trim())?.owner).toBeUndefined();
  });

  test('a request that reached no origin has no owner', () => {
    const reached = line(4000, { account: 7, user: 3 }, 10, 20).trim();
    for (const none of ['-', '0']) {
      const line = parseMeterLine(reached.replace('origin:40001', `origin:${none}`));
      expect(line).toMatchObject({ up: 10, owner: undefined });
    }
  });

  test('a text that is not a line of the format is skipped', () => {
    for (const text of ['', 'a b c', '1.2 192.0.2.1 1 2 3 4 x y', '1 2 3 4 5 6 7 -'])
      expect(parseMeterLine(text)).toBeUndefined();
  });

  test('only whole lines are read, each once', async () => {
    const log = new MeterLog(path);
    expect(await log.read(undefined)).toEqual({ entries: [], position: undefined });
    const text = line(1, { account: 1, user: 1 }, 1, 2) + line(2, { account: 1, user: 1 }, 3, 4);
    writeFileSync(path, text.slice(0, -5));
    const first = await log.read(undefined);
    expect(first.entries).toMatchObject([{ up: 1 }]);
    appendFileSync(path, text.slice(-5));
    const second = await log.read(first.position);
    expect(second.entries).toMatchObject([{ up: 3 }]);
    expect((await log.read(second.position)).entries).toEqual([]);
  });

  test('nothing is lost or read twice when a new log is begun', async () => {
    const log = new MeterLog(path);
    writeFileSync(path, line(1, { account: 1, user: 1 }, 1, 0));
    const first = await log.read(undefined);
    appendFileSync(path, line(1, { account: 1, user: 1 }, 2, 0));
    log.rotate();
    // Squid still writes to the old file until it opens the new one.
    appendFileSync(`${path}.1`, line(1, { account: 1, user: 1 }, 3, 0));
    const second = await log.read(first.position);
    expect(second.entries).toMatchObject([{ up: 2 }, { up: 3 }]);
    appendFileSync(`${path}.1`, line(1, { account: 1, user: 1 }, 4, 0));
    writeFileSync(path, line(1, { account: 1, user: 1 }, 5, 0));
    const third = await log.read(second.position);
    expect(third.entries).toMatchObject([{ up: 4 }, { up: 5 }]);
    expect((await log.read(third.position)).entries).toEqual([]);
    expect(log.fault).toBeUndefined();
  });

  test('a new one is begun only when all before it is read and stored', () => {
    const log = new MeterLog(path);
    writeFileSync(path, line(1, undefined, 1, 1));
    const { ino: inode, size } = statSync(path);
    expect(log.mayRotate(size - 1, { inode })).toBe(true);
    expect(log.mayRotate(size, { inode })).toBe(false);
    expect(log.mayRotate(0, { inode: inode + 1 })).toBe(false);
    expect(log.mayRotate(0, undefined)).toBe(false);
  });

  describe('of which the place is lost', () => {
    const at = (seconds: number, up: number) =>
      line(1, { account: 1, user: 1 }, up, 0).replace(/^\S+/, `${seconds}.500`);
    const text = at(100, 1) + at(101, 2) + at(102, 3);
    const readOf = async (change: () => void) => {
      const log = new MeterLog(path);
      writeFileSync(path, text);
      const { position } = await log.read(undefined);
      change();
      const { entries, position: next } = await new MeterLog(path).read(position);
      const again = new MeterLog(path);
      await again.read(position);
      expect(again.fault).toMatch(/access\.log is not the log that was read until now/);
      expect((await log.read(next)).entries).toEqual([]);
      expect(log.fault).toBeUndefined();
      return entries;
    };

    test('since it is shorter, as after a power cut, nothing of it is reported again', async () => {
      expect(await readOf(() => truncateSync(path, at(100, 1).length))).toEqual([]);
    });

    test('since it was emptied, what is newer is reported', async () => {
      const entries = await readOf(() => writeFileSync(path, at(102, 3) + at(103, 9)));
      expect(entries).toMatchObject([{ up: 9 }]);
    });

    test('since other bytes are before it, what is newer is reported', async () => {
      const entries = await readOf(() =>
        writeFileSync(path, at(100, 1) + at(101, 4) + at(102, 3) + at(104, 9)),
      );
      expect(entries).toMatchObject([{ up: 9 }]);
    });

    test('since another file is there, what is newer is reported, and a start of a Squid, too', async () => {
      const entries = await readOf(() => {
        renameSync(path, `${path}.away`);
        writeFileSync(path, at(101, 2));
        noteStart(path, { start: 'one', at: 102 });
      });
      expect(entries).toEqual([{ start: 'one', at: 102 }]);
    });
  });

  test('a place in it is reported when all before it is on the disk', async () => {
    const synced: number[] = [];
    const datasync = async () => void synced.push(statSync(path).size);
    const log = new MeterLog(path, { datasync });
    writeFileSync(path, line(1, undefined, 1, 1));
    const { position } = await log.read(undefined);
    expect(synced).toEqual([position?.offset]);
    await log.read(position);
    expect(synced.length).toBe(1);
    const failing = new MeterLog(path, { datasync: () => Promise.reject(new Error('EIO')) });
    appendFileSync(path, line(1, undefined, 1, 1));
    await expect(failing.read(position)).rejects.toThrow('EIO');
  });

  test('a line that was cut off is none, and the start of a Squid stands on a line of its own', async () => {
    const reached = line(1, { account: 1, user: 1 }, 1234, 5678).trim();
    const unreached = reached.replace('origin:40001', 'origin:0');
    for (const whole of [reached, unreached]) {
      for (let length = 0; length < whole.length; length += 1) {
        const part = parseMeterLine(whole.slice(0, length));
        if (part) expect(part).toEqual(parseMeterLine(whole));
      }
    }
    writeFileSync(path, reached.slice(0, 50));
    noteStart(path, { start: 'one', at: 1795253062 });
    const { entries } = await new MeterLog(path).read(undefined);
    expect(entries).toEqual([{ start: 'one', at: 1795253062 }]);
  });
});

describe('the kernel', () => {
  test('a socket is named by its ends, with payload bytes less what was sent again', () => {
    const text =
      'ESTAB 0      0      [::ffff:127.0.0.1]:11001 [::ffff:192.0.2.1]:36396 uid:13 ino:667651 sk:2f <-> ts sack bytes_sent:1188 bytes_retrans:100 bytes_acked:1088 bytes_received:86 segs_out:3\n' +
      '0      0      [2001:db8::1]:11001 [2001:db8:0::2]:36396 uid:13 ino:1 sk:30 <-> ts sack\n' +
      'UNCONN 0      0      127.0.0.1:11001 0.0.0.0:* ino:0 sk:8 rto:1000\n';
    expect(parseSockets(text)).toEqual([
      {
        connection: '192.0.2.1:36396>11001',
        local: '127.0.0.1',
        port: 11001,
        cookie: expect.stringMatching(/^2f@\w{8}$/),
        up: 86,
        down: 1088,
      },
      {
        connection: '2001:db8::2:36396>11001',
        local: '2001:db8::1',
        port: 11001,
        cookie: expect.stringMatching(/^30@/),
        up: 0,
        down: 0,
      },
    ]);
  });

  test('ports that follow one another are one range of the filter', () => {
    expect(socketFilter([1], '::')).toBe('( sport = :1 )');
    expect(socketFilter([1], '192.0.2.1')).toBe('( sport = :1 ) and src 192.0.2.1');
    expect(socketFilter([1], '2001:db8::1')).toBe('( sport = :1 ) and src [2001:db8::1]');
    expect(portFilter([11003, 10001, 11002, 11001, 12000])).toBe(
      '( sport = :10001 or ( sport >= :11001 and sport <= :11003 ) or sport = :12000 )',
    );
  });

  test('connections to close go together by their source ports, each once', () => {
    expect(killFilters(['192.0.2.1:40002>11001', '2001:db8::1:40001>11001'], '192.0.2.9')).toEqual([
      'dport >= :40001 and dport <= :40002 and src 192.0.2.9 and ' +
        '( ( dst [2001:db8::1]:40001 and sport = :11001 ) or ( dst 192.0.2.1:40002 and sport = :11001 ) ' +
        'or ( dst [::ffff:192.0.2.1]:40002 and sport = :11001 ) )',
    ]);
    const ports = Array.from({ length: 1000 }, (_, at) => 40_000 + ((at * 7) % 1000));
    const filters = killFilters(ports.map((port) => `192.0.2.1:${port}>11001`));
    const ranges = filters.map((filter) => filter.match(/\d{5}/g)?.slice(0, 2).map(Number));
    expect(ranges).toEqual([
      [40_000, 40_399],
      [40_400, 40_799],
      [40_800, 40_999],
    ]);
    for (const filter of filters) expect(filter.length).toBeLessThan(128 * 1024);
    expect(killFilters(['nonsense', '192.0.2.1:1>2 or dport = :1'])).toEqual([]);
  });
});

/** A client connection of the model. */
interface Open {
  cookie: string;
  up: number;
  down: number;
  /** Bytes of the request that is under way; undefined between requests. */
  request: { up: number; down: number; user: number } | undefined;
  /** The user who was last let in on it. */
  owner: number;
}

type Step =
  | { do: 'begin'; key: number; user: number }
  | { do: 'transfer'; key: number; up: number; down: number }
  | { do: 'finish'; key: number; close: boolean }
  | { do: 'poll' }
  | { do: 'restart' }
  | { do: 'rotate' };

const key = fc.integer({ min: 1, max: 2 });
const bytes = fc.integer({ min: 0, max: 5000 });
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    do: fc.constant('begin' as const),
    key,
    // 0: the request is refused, and not billed.
    user: fc.integer({ min: 0, max: 2 }),
  }),
  fc.record({ do: fc.constant('transfer' as const), key, up: bytes, down: bytes }),
  fc.record({ do: fc.constant('transfer' as const), key, up: bytes, down: bytes }),
  fc.record({ do: fc.constant('finish' as const), key, close: fc.boolean() }),
  fc.constant({ do: 'poll' as const }),
  fc.constant({ do: 'poll' as const }),
  fc.constant({ do: 'restart' as const }),
  fc.constant({ do: 'rotate' as const }),
);

/** Bytes by user. */
type Bytes = [refused: number, first: number, second: number];

/** Connections, Squid's log of them, and the simplest meter that the engine's contract allows. */
class Model {
  readonly log = new MeterLog(path);
  readonly open = new Map<number, Open>();
  readonly truth: Bytes = [0, 0, 0];
  readonly billed: Bytes = [0, 0, 0];
  #cookies = 0;
  #cursor: unknown;
  readonly counted = new Map<string, Traffic>();
  #connections = this.#start();
  #isMistaken = false;

  constructor() {
    rmSync(`${path}.1`, { force: true });
    writeFileSync(path, '');
  }
  #start(): Connections {
    return new Connections({ listSockets: async () => this.sockets(), closeSuspects: () => {} });
  }
  sockets(): Socket[] {
    return Array.from(this.open, ([at, { cookie, up, down }]) => ({
      connection: nameOf(at),
      port: 11001,
      cookie,
      up,
      down,
    }));
  }
  squid = trackedSquid((connection) => {
    const user = this.open.get(Number(/:(\d+)>/.exec(connection)?.[1]))?.owner;
    return user ? { account: 1, user } : undefined;
  });

  async take(step: Step): Promise<void> {
    if (step.do === 'poll') return this.poll();
    if (step.do === 'restart') {
      // If an agent counts bytes of a refused request as billable, and ends before the request
      // does, they are billed.
      if (!this.#isMistaken) this.#connections = this.#start();
      return;
    }
    if (step.do === 'rotate') this.#rotate();
    else if (step.do === 'begin') this.#begin(step.key, step.user);
    else if (step.do === 'transfer') this.#transfer(step.key, step.up, step.down);
    else this.#finish(step.key, step.close);
  }
  #rotate(): void {
    const stored = (this.#cursor as { logs?: Record<string, never> } | undefined)?.logs?.[path];
    if (!this.log.mayRotate(0, stored)) return;
    this.log.rotate();
    writeFileSync(path, '');
  }
  #begin(at: number, user: number): void {
    const connection = this.open.get(at) ?? {
      cookie: `c${++this.#cookies}`,
      up: 0,
      down: 0,
      request: undefined,
      owner: 0,
    };
    if (connection.request) return;
    connection.request = { up: 0, down: 0, user };
    connection.owner = user || connection.owner;
    this.open.set(at, connection);
  }
  #transfer(at: number, up: number, down: number): void {
    const connection = this.open.get(at);
    if (!connection?.request) return;
    connection.up += up;
    connection.down += down;
    connection.request.up += up;
    connection.request.down += down;
    this.truth[connection.request.user] = (this.truth[connection.request.user] ?? 0) + up + down;
  }
  #finish(at: number, close: boolean): void {
    const connection = this.open.get(at);
    if (connection?.request) {
      const { up, down, user } = connection.request;
      appendFileSync(path, line(at, user ? { account: 1, user } : undefined, up, down));
      connection.request = undefined;
    }
    if (close) this.open.delete(at);
  }

  async poll(): Promise<void> {
    this.#isMistaken = this.refused() > 0;
    const { finished, open, cursor } = await this.#connections.poll(
      this.#cursor,
      [this.squid],
      1,
      this,
    );
    this.#cursor = JSON.parse(JSON.stringify(cursor));
    this.count(finished, open);
  }
  count(finished: Traffic[], open: Traffic[]): void {
    for (const { connection, user, up, down } of finished) {
      const counted = this.counted.get(connection);
      if (counted?.user === user) {
        this.#bill(user, -counted.up - counted.down);
        this.counted.delete(connection);
      }
      this.#bill(user, up + down);
    }
    for (const traffic of open) {
      const { connection, user, up, down } = traffic;
      const counted = this.counted.get(connection);
      if (counted && counted.user !== user) throw new Error('the one before was not finished');
      const more = up + down - (counted ? counted.up + counted.down : 0);
      if (more <= 0) continue;
      this.#bill(user, more);
      this.counted.set(connection, traffic);
    }
  }
  #bill(user: number, more: number): void {
    this.billed[user] = (this.billed[user] ?? 0) + more;
  }
  /** Bytes of refused requests under way: the agent does not know yet that they are refused. */
  refused(): number {
    const requests = Array.from(this.open.values(), ({ request }) => request);
    return requests.reduce(
      (sum, request) => sum + (request?.user === 0 ? request.up + request.down : 0),
      0,
    );
  }
  /** The Squid dies with all its connections; the kernel reports their last bytes. */
  async die(): Promise<void> {
    const last = new Map(this.sockets().map((socket) => [socket.cookie, socket]));
    await this.poll();
    this.open.clear();
    this.count(this.#connections.died(this.squid, last, 1), []);
  }
}

describe('usage', () => {
  const steps = fc.array(step, { minLength: 5, maxLength: 60 });

  test('is never more than the truth, and equals it once all is over', async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (all) => {
        const model = new Model();
        for (const life of all) {
          await model.take(life);
          if (life.do !== 'poll') continue;
          for (const user of [1, 2] as const) {
            const max = model.truth[user] + model.refused();
            expect(model.billed[user]).toBeLessThanOrEqual(max);
          }
        }
        for (const at of [1, 2]) await model.take({ do: 'finish', key: at, close: true });
        await model.poll();
        expect(model.billed.slice(1)).toEqual(model.truth.slice(1));
      }),
      { numRuns: tries(3000) },
    );
  });

  test('of a Squid that dies is what the kernel counted last', async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (all) => {
        const model = new Model();
        for (const life of all) {
          // If a name is used again between two polls, it is counted late, and then lost here.
          if (life.do === 'begin' && !model.open.has(life.key)) await model.poll();
          await model.take(life);
        }
        const refused = model.refused();
        await model.die();
        for (const user of [1, 2] as const) {
          expect(model.billed[user]).toBeGreaterThanOrEqual(model.truth[user]);
          expect(model.billed[user]).toBeLessThanOrEqual(model.truth[user] + refused);
        }
      }),
      { numRuns: tries(1000) },
    );
  });

  describe('of a Squid that dies before the next poll', () => {
    const owner = { account: 1, user: 1 };
    const squid = () => trackedSquid(() => undefined);
    const other = () => ({ ...squid(), number: 1, ports: [11002] });
    const last = (source_port: number, up: number, down: number): [string, Socket] => [
      `c${source_port}`,
      { connection: nameOf(source_port), port: 11001, cookie: `c${source_port}`, up, down },
    ];
    const start = () => new Connections({ listSockets: async () => [], closeSuspects: () => {} });
    /** The decider, which ends with its Squid, reports that it let in the first connection. */
    const leave = (connections: Connections) =>
      connections.announce(0, [[nameOf(1), authorityOf(owner)]]);

    test('what young connections transferred is what the kernel counted last', async () => {
      const connections = start();
      await connections.poll(undefined, [squid()], 1);
      leave(connections);
      const destroyed = new Map([last(1, 101, 2000), last(2, 5, 5)]);
      const finished = connections.died(squid(), destroyed, 9);
      // The kernel counts the client's FIN as a byte. The second connection had no owner.
      expect(finished).toEqual([{ connection: idOf('c1'), ...owner, up: 100, down: 2000, at: 9 }]);
    });

    test('bytes that the log reported are not counted again', async () => {
      const connections = start();
      writeFileSync(path, line(1, owner, 100, 2000));
      const { finished } = await connections.poll(undefined, [squid()], 1);
      leave(connections);
      expect(finished.length).toBe(1);
      const destroyed = new Map([last(1, 101, 2000)]);
      expect(connections.died(squid(), destroyed, 9)).toEqual([]);
      expect(connections.died(other(), new Map([last(3, 1, 1)]), 9)).toEqual([]);
    });

    test('what a young connection transferred after its last line is counted', async () => {
      const connections = start();
      writeFileSync(path, line(1, owner, 100, 2000));
      await connections.poll(undefined, [squid()], 1);
      leave(connections);
      const destroyed = new Map([last(1, 131, 2400)]);
      const finished = connections.died(squid(), destroyed, 9);
      expect(finished).toEqual([{ connection: idOf('c1'), ...owner, up: 30, down: 400, at: 9 }]);
    });

    test('the line of a connection whose name another one had just before is not counted twice', async () => {
      const [[, earlier], [, young]] = [last(1, 0, 0), last(1, 101, 2000)];
      let sockets = [earlier];
      const listSockets = async () => sockets;
      const connections = new Connections({ listSockets, closeSuspects: () => {} });
      const first = await connections.poll(undefined, [squid()], 1);
      sockets = [];
      const second = await connections.poll(first.cursor, [squid()], 2);
      writeFileSync(path, line(1, owner, 100, 2000));
      const { finished } = await connections.poll(second.cursor, [squid()], 3);
      expect(finished.length).toBe(1);
      leave(connections);
      const destroyed = new Map([['other', { ...young, cookie: 'other' }]]);
      expect(connections.died(squid(), destroyed, 9)).toEqual([]);
    });
  });

  test('of an open tunnel is counted while it is open', async () => {
    const model = new Model();
    await model.take({ do: 'begin', key: 1, user: 1 });
    await model.take({ do: 'transfer', key: 1, up: 100, down: 1000 });
    await model.poll();
    expect(model.billed[1]).toBe(1100);
    await model.take({ do: 'transfer', key: 1, up: 1, down: 1 });
    await model.poll();
    expect(model.billed[1]).toBe(1102);
  });
});

describe('the states of a connection in the agent', () => {
  const owner = { account: 1, user: 1 };
  const name = nameOf(1);
  let connections: Connections;
  let closed: string[][];
  let sockets: Socket[];
  let cursor: unknown;
  let now: number;
  /** The owner that the decider knows; without a decider there is no response to a list. */
  let knownOwner: Owner | undefined;
  let hasDecider: boolean;
  beforeEach(() => {
    [closed, sockets, cursor, knownOwner, hasDecider] = [[], [], undefined, undefined, true];
    now = 1;
    writeFileSync(path, '');
    connections = new Connections({
      listSockets: async () => sockets,
      closeSuspects: (_, suspects) => closed.push(suspects),
    });
  });
  const socket = (cookie = 'c1', bytes = 10): Socket => ({
    ...{ connection: name, port: 11001, cookie },
    ...{ up: bytes, down: bytes },
  });
  const poll = async (...listed: Socket[]) => {
    sockets = listed;
    const squid = trackedSquid(() => knownOwner);
    const sendList: TrackedSquid['sendList'] = async (...list) =>
      hasDecider && squid.sendList(...list);
    const answer = await connections.poll(cursor, [{ ...squid, sendList }], now);
    cursor = answer.cursor;
    return answer;
  };
  const state = () => connections.stateOf(name);

  test('unowned until a decider reports its owner, then open, then ended until its line comes', async () => {
    expect(state()).toBeUndefined();
    await poll(socket());
    expect(state()).toBe('unowned');
    knownOwner = owner;
    const { open } = await poll(socket());
    expect([state(), open]).toEqual([
      'open',
      [{ connection: idOf('c1'), ...owner, up: 10, down: 10 }],
    ]);
    await poll();
    expect(state()).toBe('ended');
    appendFileSync(path, line(1, owner, 12, 13));
    const { finished } = await poll();
    expect(finished).toMatchObject([{ connection: idOf('c1'), ...owner, up: 12, down: 13 }]);
    expect(state()).toBeUndefined();
  });

  test('what was counted ahead of a request that reached no origin is taken back by its line', async () => {
    knownOwner = owner;
    expect((await poll(socket())).open).toMatchObject([{ connection: idOf('c1'), up: 10 }]);
    appendFileSync(path, line(1, owner, 12, 13).replace('origin:40001', 'origin:0'));
    const { finished, open } = await poll(socket('c1', 13));
    expect(finished).toMatchObject([{ connection: idOf('c1'), ...owner, up: 0, down: 0 }]);
    // Its line reports one byte less than was received, which belongs to the next request.
    expect(open).toMatchObject([{ up: 1, down: 0 }]);
  });

  test('an ended one whose line never comes counts with its last report, after ten minutes', async () => {
    knownOwner = owner;
    await poll(socket());
    for (const seconds of [1, 300, 600]) {
      now = seconds;
      expect((await poll()).finished).toEqual([]);
    }
    now = 601;
    const { finished } = await poll();
    expect(finished).toEqual([{ connection: idOf('c1'), ...owner, up: 10, down: 10, at: 601 }]);
    expect(state()).toBeUndefined();
  });

  test('announced by a leaving decider it is unlisted, and forgotten when the list after the next misses it', async () => {
    connections.announce(0, [[name, authorityOf(owner)]]);
    expect(state()).toBe('unlisted');
    await poll();
    expect(state()).toBe('unlisted');
    await poll();
    expect(state()).toBeUndefined();
    connections.announce(0, [[name, authorityOf(owner)]]);
    await poll(socket());
    expect(state()).toBe('open');
  });

  test('nothing is forgotten while no decider responds', async () => {
    connections.announce(0, [[name, authorityOf(owner)]]);
    hasDecider = false;
    for (let lists = 0; lists < 5; lists += 1) await poll();
    expect(connections.owners(0)).toEqual([[name, authorityOf(owner)]]);
    await poll(socket());
    await poll();
    expect(connections.owners(0)).toEqual([[name, authorityOf(owner)]]);
    hasDecider = true;
    await poll();
    await poll();
    expect(connections.owners(0)).toEqual([]);
  });

  test('unowned when a decider dies it is a suspect, which is closed after three more lists', async () => {
    await poll(socket());
    connections.search(0);
    for (let lists = 0; lists < 3; lists += 1) {
      await poll(socket());
      expect([state(), closed]).toEqual(['suspect', []]);
    }
    await poll(socket());
    await poll(socket());
    expect(closed).toEqual([[name], [name]]);
    await poll();
    expect([state(), closed.length]).toEqual([undefined, 2]);
  });

  test('a suspect whose owner a decider reports is open; one that came later is none', async () => {
    connections.search(0);
    await poll(socket());
    expect(state()).toBe('suspect');
    knownOwner = owner;
    await poll(socket());
    expect(state()).toBe('open');
    knownOwner = undefined;
    await poll();
    for (let lists = 0; lists < 5; lists += 1) await poll(socket('c2'));
    expect([state(), closed]).toEqual(['unowned', []]);
  });

  test('revoked it is closing while the kernel lists it, and that is new once', async () => {
    knownOwner = owner;
    expect(connections.revoke(name)).toBe(true);
    await poll(socket());
    expect([connections.revoke(name), state()]).toEqual([true, 'closing']);
    expect(connections.revoke(name)).toBe(false);
    await poll(socket());
    expect(state()).toBe('closing');
    await poll(socket('c2'));
    expect(state()).toBe('open');
  });

  test('of a Squid whose ports are not known yet, nothing is reported, and what is stored stays', async () => {
    appendFileSync(path, line(1, owner, 4, 4));
    knownOwner = owner;
    await poll(socket());
    appendFileSync(path, line(1, owner, 3, 3));
    const before = (await poll(socket())).cursor;
    connections = new Connections({ listSockets: async () => sockets, closeSuspects: () => {} });
    let lists = 0;
    const squid = { ...trackedSquid(() => knownOwner), ports: undefined };
    const sendList = async () => {
      lists += 1;
      return true;
    };
    sockets = [];
    const unknown = await connections.poll(before, [{ ...squid, sendList }], 1);
    expect([lists, unknown.cursor]).toEqual([0, before]);
    const { open } = await poll(socket());
    expect(open).toEqual([{ connection: idOf('c1'), ...owner, up: 3, down: 3 }]);
  });
});

describe('the connections that a decider let in', () => {
  test('a connection is forgotten when a list misses it that began after it was let in', () => {
    const sessions = new Sessions();
    const letIn = new LetIn(sessions);
    const authority: Authority = { by: 'authlist', account: 1, user: 1, entry: 1, ip: '192.0.2.1' };
    const none = { added: [], removed: [] };
    letIn.admit('short', authority);
    letIn.admit('long', authority);
    // The list may be older than their admission.
    expect(letIn.take(none)).toEqual([]);
    expect(sessions.size).toBe(2);
    expect(letIn.take({ added: ['long'], removed: [] })).toEqual([['long', authority]]);
    expect([...sessions.all()]).toEqual([['long', authority]]);
    expect(letIn.take(none)).toEqual([]);
    expect(sessions.size).toBe(1);
    const other = { ...authority, user: 2 };
    letIn.admit('long', other);
    expect(letIn.take(none)).toEqual([['long', other]]);
    letIn.take({ added: [], removed: ['long'] });
    expect(sessions.size).toBe(0);
  });

  test('one that is renewed is reported again, and one that no request was let in on is listed all the same', () => {
    const sessions = new Sessions();
    const letIn = new LetIn(sessions);
    const authority = authorityOf({ account: 1, user: 1 });
    expect(letIn.take({ added: ['idle'], removed: [] })).toEqual([]);
    expect(letIn.unreported()).toEqual([]);
    letIn.admit('idle', authority);
    expect(letIn.unreported()).toEqual([['idle', authority]]);
    expect(letIn.take({ added: [], removed: [] })).toEqual([['idle', authority]]);
    expect(letIn.unreported()).toEqual([]);
    // It is gone, and a request was let in since: another connection may have the name.
    letIn.admit('idle', authority);
    expect(letIn.take({ added: [], removed: ['idle'] })).toEqual([]);
    expect(letIn.unreported()).toEqual([['idle', authority]]);
    letIn.take({ added: [], removed: [] });
    expect(sessions.size).toBe(0);
  });

  test('a new agent gets all; with none the list of this process itself says what is over', () => {
    const sessions = new Sessions();
    const letIn = new LetIn(sessions);
    const authority = authorityOf({ account: 1, user: 1 });
    for (const connection of ['here', 'gone']) letIn.inherit(connection, authority);
    letIn.takeWhole(['here', 'gone']);
    letIn.takeWhole(['here']);
    expect([...sessions.all()]).toEqual([['here', authority]]);
    letIn.inherit('here', authorityOf({ account: 2, user: 2 }));
    letIn.restart();
    expect(letIn.unreported()).toEqual([['here', authority]]);
    expect(letIn.take({ added: ['here'], removed: [] })).toEqual([['here', authority]]);
  });
});
