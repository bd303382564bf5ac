// A machine with a Squid, its kernel and an agent that counts, each of which may die at any time,
// and the oracle of the bill.
import {
  appendFileSync,
  fstatSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import type { Engine, Stored } from '../src/engine.ts';
import type { TrackedSquid } from '../src/squid/agent/connection.ts';
import { Connections } from '../src/squid/agent/connections.ts';
import { MeterLog, noteStart } from '../src/squid/agent/meter_log.ts';
import type { Socket } from '../src/squid/sockets.ts';
import { Journal } from '../src/usage/journal.ts';
import { Meter } from '../src/usage/meter.ts';
import {
  type Bytes,
  billedIn,
  type Client,
  nameOf,
  none,
  ownerOf,
  port,
  type Request,
  socketOf,
  type User,
  users,
} from './usage_clients.ts';

const log = pino({ level: 'silent' });
const key = 'of the agents';
/** A random number below this one. */
export type Random = (below: number) => number;

/** Mulberry32: the same numbers for the same seed. */
export function randomOf(start: number): Random {
  let state = start >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below);
  };
}

/** The part of an agent that dies with its process. */
interface Agent {
  connections: Connections;
  meter: Meter;
  journal: Journal;
  meterLog: MeterLog;
  start: string | undefined;
  /** Squid died during this agent's life, and no tick was stored since: its requests. */
  dead: Client[] | undefined;
  destroyed: Map<string, Socket>;
  destroyedAtStart: Map<string, Socket> | undefined;
}

export class World {
  readonly #random: Random;
  readonly #log: string;
  readonly #journal: string;
  readonly trace: string[] = [];
  #seconds = 1_800_000_000;
  #boot = 1;
  #cookies = 0;
  #starts = 0;
  agent: Agent | undefined;
  isSquidUp = false;
  /**
   * Whether there was a poll since Squid's start. The agent starts no second Squid before it has
   * taken the first one's counts.
   */
  #isPolled = false;
  readonly #open = new Map<number, Client>();
  /**
   * Names that were used lately, each with the number of ticks until another connection of the name
   * is reported in time.
   */
  readonly #used = new Map<number, number>();
  /** By inode, how much of the file survives a power cut. */
  readonly #synced = new Map<number, number>();
  /** Requests whose line is in the log, by the line's end, until a tick that read it is stored. */
  #unread: Array<{ inode: number; end: number; request: Request }> = [];
  /** The bytes that all requests transferred, and the part that must be billed, by user. */
  readonly truth = { 1: none(), 2: none() };
  readonly due = { 1: none(), 2: none() };
  /** The bytes that the machine sent and received; the least possible number. */
  carried = 0;
  /** How often an agent was started. */
  agents = 0;
  /** Bytes that may be missing, of connections that were open when a journal was begun. */
  slack = 0;
  /** The rows of journals that were moved away. */
  readonly #before = { 1: none(), 2: none() };
  #isFull = false;
  /** A write after the disk was full may fail, too. */
  #mayFail = false;

  constructor(dir: string, random: Random) {
    this.#random = random;
    this.#log = join(dir, 'meter.log');
    this.#journal = join(dir, 'usage.journal');
  }

  // ---- Clients ----------------------------------------------------------------------------

  request(key: number, user: User): void {
    if (!this.isSquidUp || (this.#used.has(key) && !this.#open.has(key))) return;
    const client = this.#open.get(key) ?? {
      ...{ key, cookie: `${++this.#cookies}@boot${this.#boot}`, up: 0, down: 0 },
      ...{ request: undefined, owner: user },
    };
    if (client.request) return;
    client.request = { user, up: 0, down: 0, seen: none() };
    this.carried += 256;
    client.owner = user;
    this.#open.set(key, client);
  }
  transfer(key: number, up: number, down: number): void {
    const client = this.#open.get(key);
    if (!client?.request) return;
    for (const sum of [client, client.request, this.truth[client.request.user]]) {
      sum.up += up;
      sum.down += down;
    }
    this.carried += up + down;
  }
  finish(key: number, close: boolean): void {
    const client = this.#open.get(key);
    if (!client) return;
    const { request } = client;
    if (request) {
      const { user, up, down } = request;
      const text = `${this.#now()}.${this.#millis()} 192.0.2.1 ${key} ${port} 1 ${user} ${up} ${down} origin:40001 200 TCP_TUNNEL CONNECT\n`;
      appendFileSync(this.#log, text);
      const { ino: inode, size: end } = statSync(this.#log);
      this.#unread.push({ inode, end, request });
      client.request = undefined;
    }
    if (!close) return;
    this.#open.delete(key);
    this.#used.set(key, 6);
  }

  /** Squid's user writes anything to the log, or repeats a line. */
  forge(text: string | undefined): void {
    const lines = readFileSync(this.#log, 'latin1').split('\n');
    appendFileSync(this.#log, `${text ?? lines[this.#random(lines.length)]}\n`);
  }

  // ---- Lives and deaths -------------------------------------------------------------------

  /** Polls, and stores the tick; `cut`: the agent dies while writing it. */
  async tick({ cut = false } = {}): Promise<void> {
    const { agent } = this;
    if (!agent) return;
    for (const [key, bytes] of this.#used) {
      if (bytes > 1) this.#used.set(key, bytes - 1);
      else this.#used.delete(key);
    }
    const before = sizeOf(this.#journal);
    try {
      await agent.meter.tick();
    } catch (error) {
      if (!this.#mayFail) throw error;
      this.trace.push('  not kept');
      if (cut) await this.killAgent();
      return;
    }
    const written = sizeOf(this.#journal) - before;
    if (cut && written > 0) {
      const length = this.#random(written + 1);
      if (length < written) {
        await this.killAgent();
        truncateSync(this.#journal, before + length);
        return;
      }
    }
    this.#noteKept(agent);
    if (cut) await this.killAgent();
  }

  /** A tick is on disk, so everything that it read or saw must be billed. */
  #noteKept(agent: Agent): void {
    for (const { request } of this.#unread) this.#owe(request, request);
    this.#unread = [];
    for (const { request } of agent.dead ?? []) if (request) this.#owe(request, request);
    agent.dead = undefined;
    for (const { request } of this.#open.values()) {
      if (request) request.seen = { up: request.up, down: request.down };
    }
  }

  async startAgent(): Promise<void> {
    if (this.agent) return;
    this.agents += 1;
    const meterLog = new MeterLog(this.#log, {
      key,
      datasync: async (file) => {
        const { ino, size } = fstatSync(file);
        this.#synced.set(ino, size);
      },
    });
    const connections = new Connections({
      listSockets: async () => this.#sockets(),
      closeSuspects: () => {},
      carried: () => this.carried,
    });
    const journal = await Journal.open(this.#journal, { log });
    const clock = { now: () => this.#now(), steady: () => this.#seconds, sleep: async () => {} };
    const engine: Pick<Engine, 'poll'> = { poll: (cursor, stored) => this.#poll(cursor, stored) };
    const meter = new Meter({ engine, journal, clock, log, poll_seconds: 1 });
    const destroyed = new Map();
    this.agent = {
      connections,
      meter,
      journal,
      meterLog,
      start: undefined,
      dead: undefined,
      destroyed,
      destroyedAtStart: undefined,
    };
    await connections.begin([this.#tracked(this.agent)]);
    if (journal.cursor === undefined) this.#leave();
    if (!this.isSquidUp) this.startSquid();
  }

  /** A journal begins: everything that was not seen before is left out of the bill. */
  #leave(): void {
    for (const { request } of this.#unread) this.#owe(request, request.seen);
    this.#unread = [];
    // The agent does not know how much belongs to the request under way, so at the request's end
    // it is left out again.
    for (const { up, down, request } of this.#open.values()) {
      this.slack += up + down + (request ? request.up + request.down : 0);
    }
  }

  async killAgent(): Promise<void> {
    const { agent } = this;
    if (!agent) return;
    this.agent = undefined;
    await agent.journal.close().catch(() => {});
    this.#mayFail = false;
    for (const { request } of agent.dead ?? []) if (request) this.#owe(request, request.seen);
    if (this.#isFull) this.fill(false);
  }

  /** Starts Squid, which only an agent does. */
  startSquid(): void {
    if (!this.agent || this.isSquidUp) return;
    this.agent.destroyedAtStart = new Map(this.agent.destroyed);
    this.agent.start = `start${++this.#starts}`;
    noteStart(this.#log, { start: this.agent.start, at: this.#now() }, { key });
    this.isSquidUp = true;
    this.#isPolled = false;
  }

  killSquid(): void {
    if (!this.isSquidUp || !this.#isPolled) return;
    this.isSquidUp = false;
    const clients = [...this.#open.values()];
    this.#open.clear();
    // The following lines are of another Squid.
    this.#used.clear();
    const { agent } = this;
    if (!agent) {
      for (const { request } of clients) if (request) this.#owe(request, request.seen);
      return;
    }
    agent.dead = [...(agent.dead ?? []), ...clients];
    for (const client of clients) {
      const last = socketOf(client);
      agent.destroyed.set(last.cookie, { ...last, up: last.up + 1 });
    }
    agent.connections.announce(0, clients.map(ownerOf));
  }

  /** A power cut: unsynced bytes may be lost, and cookies start again. */
  async cutPower(): Promise<void> {
    await this.killAgent();
    this.#isPolled = true;
    this.killSquid();
    this.#boot += 1;
    this.#cookies = 0;
    for (const path of [this.#log, `${this.#log}.1`]) {
      const { ino, size } = statSync(path, { throwIfNoEntry: false }) ?? {};
      if (ino === undefined || size === undefined) continue;
      const synced = this.#synced.get(ino) ?? 0;
      let length = synced + this.#random(size - synced + 1);
      // A line that lacks only a part of its last word counts as complete.
      for (const { end } of this.#unread) if (length < end && length > end - 9) length = end;
      truncateSync(path, length);
      const lost = this.#unread.filter(({ inode, end }) => inode === ino && end > length);
      for (const { request } of lost) this.#owe(request, request.seen);
      this.#unread = this.#unread.filter((line) => !lost.includes(line));
    }
  }

  /** Moves the journal away, as the operator does while the agent is stopped. */
  async moveJournal(): Promise<void> {
    await this.killAgent();
    if (sizeOf(this.#journal) === 0) return;
    const journal = await Journal.open(this.#journal, { log });
    for (const user of users) {
      const sum = billedIn(journal, user);
      this.#before[user].up += sum.up;
      this.#before[user].down += sum.down;
    }
    await journal.close();
    rmSync(this.#journal);
    await this.startAgent();
  }

  /** The journal cannot be written, or can again. */
  fill(isFull: boolean): void {
    if (isFull === this.#isFull || (isFull && !this.agent)) return;
    this.#isFull = isFull;
    const cramped = `${this.#journal}.new`;
    if (isFull) {
      mkdirSync(cramped);
      writeFileSync(join(cramped, 'x'), '');
      this.#mayFail = true;
      void this.agent?.journal.close();
    } else rmSync(cramped, { recursive: true });
  }

  rotate(): void {
    const { agent } = this;
    const stored = agent?.journal.cursor as { logs?: Record<string, never> } | undefined;
    if (!agent?.meterLog.mayRotate(0, stored?.logs?.[this.#log])) return;
    if (this.#unread.length > 0) return;
    agent.meterLog.rotate();
    writeFileSync(this.#log, '');
  }

  /** Runs until everything is over and counted. */
  async end(): Promise<void> {
    this.fill(false);
    await this.startAgent();
    await this.tick();
    this.startSquid();
    for (const key of this.#open.keys()) this.finish(key, true);
    await this.tick();
    await this.tick();
  }

  billed(user: User): Bytes {
    const sum = this.agent ? billedIn(this.agent.journal, user) : none();
    const { up, down } = this.#before[user];
    return { up: up + sum.up, down: down + sum.down };
  }

  /** All bytes of all rows, of every payer. */
  billedInAll(): number {
    const { journal } = this.agent as Agent;
    const sum = (selected: Iterable<Bytes>) =>
      [...selected].reduce((all, { up, down }) => all + up + down, 0);
    return sum(journal.pending()) - sum(journal.carry.values());
  }

  /** For the trace: the running parts, and the open connections. */
  state(): string {
    const clients = [...this.#open.values()].map(
      ({ key, cookie, up, down, request }) =>
        `${key} ${cookie} ${up}/${down} ${request ? `user ${request.user} ${request.up}/${request.down} seen ${request.seen.up}` : ''}`,
    );
    const who = `${this.agent ? 'agent' : '-'} ${this.isSquidUp ? 'Squid' : '-'}`;
    const sums = users.map((user) => `${this.billed(user).up} of ${this.due[user].up}`).join(', ');
    return `  ${who}, billed ${sums}; ${clients.join('; ')}`;
  }

  faults(): string[] {
    const { meterLog, connections } = this.agent ?? {};
    const isForged = meterLog?.isForged || connections?.isImplausible;
    return [meterLog?.fault, isForged ? 'forged' : undefined].filter(
      (fault) => fault !== undefined,
    );
  }

  // ---- The engine -------------------------------------------------------------------------

  async #poll(cursor: unknown, stored?: Stored) {
    const { agent } = this;
    if (!agent) throw new Error('there is no agent');
    const squid = this.#tracked(agent);
    const isDead = !this.isSquidUp;
    this.#isPolled = true;
    const poll = await agent.connections.poll(cursor, [squid], this.#now(), stored);
    if (isDead) poll.finished.push(...agent.connections.died(squid, agent.destroyed, this.#now()));
    return poll;
  }

  #tracked(agent: Agent): TrackedSquid {
    return {
      number: 0,
      log: agent.meterLog,
      ports: [port],
      tls_ports: new Set(),
      start: agent.start,
      destroyed: agent.destroyedAtStart,
      sendList: async (listed, take) => {
        const clients = [...this.#open.values()].filter(({ key }) => listed.includes(nameOf(key)));
        if (this.isSquidUp) take(clients.map(ownerOf));
        return this.isSquidUp;
      },
    };
  }

  #sockets(): Socket[] {
    return Array.from(this.#open.values(), socketOf);
  }
  #owe({ user }: Request, { up, down }: Bytes): void {
    this.due[user].up += up;
    this.due[user].down += down;
  }
  #now(): number {
    this.#seconds += 1;
    return this.#seconds;
  }
  #millis(): string {
    return String(this.#random(1000)).padStart(3, '0');
  }
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}
