// Squid's log and the kernel's counters become usage: against a model of connections that opens, reuses and ends them at random.
import {
  appendFileSync,
  mkdtempSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Traffic } from '../src/engine.ts';
import { MeterLog, parseMeterLine } from '../src/squid/meter_log.ts';
import { parseSockets, portFilter, type Socket } from '../src/squid/sockets.ts';
import { type Metered, type Owner, SquidTraffic } from '../src/squid/traffic.ts';

let dir: string;
let path: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'exitward-traffic-'));
  path = join(dir, 'access.log');
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const line = (source_port: number, owner: Owner | undefined, up: number, down: number) =>
  `1795253061.350 192.0.2.1 ${source_port} 11001 ${owner?.account ?? '-'} ${owner?.user ?? '-'} ${up} ${down} 200 TCP_TUNNEL CONNECT\n`;
const nameOf = (source_port: number) => `192.0.2.1:${source_port}>11001`;

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

  test('what is no line of the format is passed over', () => {
    for (const text of ['', 'a b c', '1.2 192.0.2.1 1 2 3 4 x y', '1 2 3 4 5 6 7 -'])
      expect(parseMeterLine(text)).toBeUndefined();
  });

  test('only whole lines are read, each once', () => {
    const log = new MeterLog(path);
    expect(log.read(undefined)).toEqual({ lines: [], position: undefined });
    const text = line(1, { account: 1, user: 1 }, 1, 2) + line(2, { account: 1, user: 1 }, 3, 4);
    writeFileSync(path, text.slice(0, -5));
    const first = log.read(undefined);
    expect(first.lines.map(({ up }) => up)).toEqual([1]);
    appendFileSync(path, text.slice(-5));
    const second = log.read(first.position);
    expect(second.lines.map(({ up }) => up)).toEqual([3]);
    expect(log.read(second.position).lines).toEqual([]);
  });

  test('nothing is lost or read twice when the log is begun anew', () => {
    const log = new MeterLog(path);
    writeFileSync(path, line(1, { account: 1, user: 1 }, 1, 0));
    const first = log.read(undefined);
    appendFileSync(path, line(1, { account: 1, user: 1 }, 2, 0));
    log.rotate();
    // Squid still writes to the old file until it opens the new one.
    appendFileSync(`${path}.1`, line(1, { account: 1, user: 1 }, 3, 0));
    const second = log.read(first.position);
    expect(second.lines.map(({ up }) => up)).toEqual([2, 3]);
    appendFileSync(`${path}.1`, line(1, { account: 1, user: 1 }, 4, 0));
    writeFileSync(path, line(1, { account: 1, user: 1 }, 5, 0));
    const third = log.read(second.position);
    expect(third.lines.map(({ up }) => up)).toEqual([4, 5]);
    expect(log.read(third.position).lines).toEqual([]);
  });

  test('it is begun anew only when all before it is read and stored', () => {
    const log = new MeterLog(path);
    writeFileSync(path, line(1, undefined, 1, 1));
    const { ino: inode, size } = statSync(path);
    expect(log.mayRotate(size - 1, { inode, offset: 0 })).toBe(true);
    expect(log.mayRotate(size, { inode, offset: 0 })).toBe(false);
    expect(log.mayRotate(0, { inode: inode + 1, offset: 0 })).toBe(false);
    expect(log.mayRotate(0, undefined)).toBe(false);
  });

  test('a log that somebody emptied is read from its beginning', () => {
    const log = new MeterLog(path);
    writeFileSync(path, line(1, undefined, 1, 1).repeat(3));
    const { position } = log.read(undefined);
    truncateSync(path);
    appendFileSync(path, line(1, undefined, 9, 1));
    expect(log.read(position).lines.map(({ up }) => up)).toEqual([9]);
  });
});

describe('the kernel', () => {
  test('a socket is named by its ends, with payload bytes less what was sent again', () => {
    const text =
      'ESTAB 0      0      [::ffff:127.0.0.1]:11001 [::ffff:192.0.2.1]:36396 uid:13 ino:667651 sk:2f <-> ts sack bytes_sent:1188 bytes_retrans:100 bytes_acked:1088 bytes_received:86 segs_out:3\n' +
      '0      0      [2001:db8::1]:11001 [2001:db8:0::2]:36396 uid:13 ino:1 sk:30 <-> ts sack\n' +
      'UNCONN 0      0      127.0.0.1:11001 0.0.0.0:* ino:0 sk:8 rto:1000\n';
    expect(parseSockets(text)).toEqual([
      { connection: '192.0.2.1:36396>11001', port: 11001, cookie: '2f', up: 86, down: 1088 },
      { connection: '2001:db8::2:36396>11001', port: 11001, cookie: '30', up: 0, down: 0 },
    ]);
  });

  test('ports that follow one another are one range of the filter', () => {
    expect(portFilter([11003, 10001, 11002, 11001, 12000])).toBe(
      '( sport = :10001 or ( sport >= :11001 and sport <= :11003 ) or sport = :12000 )',
    );
  });
});

/** A client connection of the model. */
interface Open {
  cookie: string;
  up: number;
  down: number;
  /** Bytes of the request that is under way; undefined between requests. */
  request: { up: number; down: number; user: number } | undefined;
  /** Who was last let in on it. */
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
    // 0: a request that is refused, and not billed.
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

/** Connections, Squid's log of them, and a meter as simple as the engine's contract lets it be. */
class Model {
  readonly log = new MeterLog(path);
  readonly open = new Map<number, Open>();
  readonly truth: Bytes = [0, 0, 0];
  readonly billed: Bytes = [0, 0, 0];
  #cookies = 0;
  #cursor: unknown;
  #counted = new Map<string, { user: number; bytes: number }>();
  #traffic = this.#start();
  #isMistaken = false;

  constructor() {
    rmSync(`${path}.1`, { force: true });
    writeFileSync(path, '');
  }
  #start(): SquidTraffic {
    return new SquidTraffic({
      listSockets: async () => this.sockets(),
      ownerOf: (connection) => {
        const user = this.open.get(Number(/:(\d+)>/.exec(connection)?.[1]))?.owner;
        return user ? { account: 1, user } : undefined;
      },
    });
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
  squids: Metered[] = [{ log: this.log, ports: [11001], tls_ports: new Set<number>() }];

  async take(step: Step): Promise<void> {
    if (step.do === 'poll') return this.poll();
    if (step.do === 'restart') {
      // An agent that takes a refused request's bytes for billable, and ends before it is over, bills them.
      if (!this.#isMistaken) this.#traffic = this.#start();
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
    const one = this.open.get(at) ?? {
      cookie: `c${++this.#cookies}`,
      up: 0,
      down: 0,
      request: undefined,
      owner: 0,
    };
    if (one.request) return;
    one.request = { up: 0, down: 0, user };
    one.owner = user || one.owner;
    this.open.set(at, one);
  }
  #transfer(at: number, up: number, down: number): void {
    const one = this.open.get(at);
    if (!one?.request) return;
    one.up += up;
    one.down += down;
    one.request.up += up;
    one.request.down += down;
    this.truth[one.request.user] = (this.truth[one.request.user] ?? 0) + up + down;
  }
  #finish(at: number, close: boolean): void {
    const one = this.open.get(at);
    if (one?.request) {
      const { up, down, user } = one.request;
      appendFileSync(path, line(at, user ? { account: 1, user } : undefined, up, down));
      one.request = undefined;
    }
    if (close) this.open.delete(at);
  }

  async poll(): Promise<void> {
    this.#isMistaken = this.refused() > 0;
    const { finished, open, cursor } = await this.#traffic.poll(this.#cursor, this.squids, 1);
    this.#cursor = JSON.parse(JSON.stringify(cursor));
    this.count(finished, open);
  }
  count(finished: Traffic[], open: Traffic[]): void {
    for (const { connection, user, up, down } of finished) {
      const counted = this.#counted.get(connection);
      if (counted?.user === user) {
        this.#bill(user, -counted.bytes);
        this.#counted.delete(connection);
      }
      this.#bill(user, up + down);
    }
    for (const { connection, user, up, down } of open) {
      const counted = this.#counted.get(connection);
      if (counted && counted.user !== user) throw new Error('the one before was not finished');
      const more = up + down - (counted?.bytes ?? 0);
      if (more <= 0) continue;
      this.#bill(user, more);
      this.#counted.set(connection, { user, bytes: up + down });
    }
  }
  #bill(user: number, more: number): void {
    this.billed[user] = (this.billed[user] ?? 0) + more;
  }
  /** Bytes of refused requests that are under way: nobody knows yet that they are. */
  refused(): number {
    const requests = Array.from(this.open.values(), ({ request }) => request);
    return requests.reduce((sum, one) => sum + (one?.user === 0 ? one.up + one.down : 0), 0);
  }
  /** The Squid dies with all its connections; the kernel tells their last bytes. */
  async die(): Promise<void> {
    const last = new Map(this.sockets().map((socket) => [socket.connection, socket]));
    await this.poll();
    this.open.clear();
    this.count(this.#traffic.died([11001], last, new Set(), 1), []);
  }
}

describe('usage', () => {
  const steps = fc.array(step, { minLength: 5, maxLength: 60 });

  test('is never more than the truth, and equals it once all is over', async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (all) => {
        const model = new Model();
        for (const one of all) {
          await model.take(one);
          if (one.do !== 'poll') continue;
          for (const user of [1, 2] as const) {
            const most = model.truth[user] + model.refused();
            expect(model.billed[user]).toBeLessThanOrEqual(most);
          }
        }
        for (const at of [1, 2]) await model.take({ do: 'finish', key: at, close: true });
        await model.poll();
        expect(model.billed.slice(1)).toEqual(model.truth.slice(1));
      }),
      { numRuns: 3000 },
    );
  });

  test('of a Squid that dies is what the kernel counted last', async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (all) => {
        const model = new Model();
        for (const one of all) {
          // A name that is used again between two polls is counted a little late, and then lost here.
          if (one.do === 'begin' && !model.open.has(one.key)) await model.poll();
          await model.take(one);
        }
        const refused = model.refused();
        await model.die();
        for (const user of [1, 2] as const) {
          expect(model.billed[user]).toBeGreaterThanOrEqual(model.truth[user]);
          expect(model.billed[user]).toBeLessThanOrEqual(model.truth[user] + refused);
        }
      }),
      { numRuns: 1000 },
    );
  });

  describe('of a Squid that dies before the next poll', () => {
    const owner = { account: 1, user: 1 };
    const squids = () => [
      { log: new MeterLog(path), ports: [11001], tls_ports: new Set<number>() },
    ];
    const last = (source_port: number, up: number, down: number): [string, Socket] => [
      nameOf(source_port),
      { connection: nameOf(source_port), port: 11001, cookie: 'c', up, down },
    ];
    const start = (owned: number[]) =>
      new SquidTraffic({
        listSockets: async () => [],
        ownerOf: (name) => (owned.some((at) => nameOf(at) === name) ? owner : undefined),
      });

    test('what young connections transferred is what the kernel counted last', async () => {
      const traffic = start([1]);
      await traffic.poll(undefined, squids(), 1);
      const destroyed = new Map([last(1, 101, 2000), last(2, 5, 5)]);
      const finished = traffic.died([11001], destroyed, new Set(), 9);
      // The client's end counts as a byte; the second one was nobody's.
      expect(finished).toEqual([{ connection: nameOf(1), ...owner, up: 100, down: 2000, at: 9 }]);
    });

    test('what the log has told is not counted again', async () => {
      const traffic = start([1]);
      writeFileSync(path, line(1, owner, 100, 2000));
      const { finished } = await traffic.poll(undefined, squids(), 1);
      expect(finished.length).toBe(1);
      const destroyed = new Map([last(1, 101, 2000)]);
      expect(traffic.died([11001], destroyed, new Set(), 9)).toEqual([]);
      expect(traffic.died([11002], new Map([last(3, 1, 1)]), new Set(), 9)).toEqual([]);
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
