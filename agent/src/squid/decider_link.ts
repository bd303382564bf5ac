// The agent's end of the line to the deciders of one Squid: what is asked of them, and what they tell.
import { chmodSync, chownSync, rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import type { Authority, Decision, ProxyRequest } from '../policy/decide.ts';
import { type LastUsed, LastUsedTimes } from '../policy/last_used.ts';
import type { Listener } from '../policy/policy.ts';
import type { Position } from '../policy/records.ts';
import type { Revoked } from '../policy/sessions.ts';
import type { Listed } from './census.ts';

/** Client connections, and what each rests on. */
export type Opened = Array<[connection: string, Authority]>;

export interface CaughtUp {
  /** Undefined: the decider holds no policy. */
  position?: Position;
  revoked: Revoked[];
  /** When they are others than it last told. */
  listeners?: Listener[];
}

/** What can be asked, by name, with its answer. */
export interface Questions {
  /** To follow the policy on disk, and judge what is open by it. */
  catch_up: { question: undefined; answer: CaughtUp };
  /** To forget what is over; tells what those rest on that are new in the list, or were judged since. */
  take_list: { question: Listed; answer: Opened };
  /** What authlist entries let in since, so many at most: meanwhile it judges nothing. */
  take_uses: { question: number; answer: LastUsed[] };
  explain: { question: ProxyRequest; answer: { verdict: Decision; position?: Position } };
}

/** A question by its name. */
export type Asked = {
  [Name in keyof Questions]: { id: number; ask: Name; question: Questions[Name]['question'] };
}[keyof Questions];

/** A line of JSON each, over a unix socket. The other one: what an earlier decider of this Squid let in. */
export type ToDecider = Asked | { opened: Opened };

/** `opened` is the last that one says which leaves: what it had let in, by what, and may not have told. */
export type FromDecider =
  | { id: number; answer?: unknown }
  | { revoked: Revoked[] }
  | { opened: Opened; uses?: LastUsed[] };

export interface LinkEvents {
  onRevoked: (revoked: Revoked[]) => void;
  /** A decider is gone that did not say what it had let in. */
  onLost: () => void;
}

interface Pending {
  resolve: (answer: unknown) => void;
  reject: (error: Error) => void;
}

/** A decider that is connected. */
interface Decider {
  socket: Socket;
  pending: Map<number, Pending>;
  /** The connections that it was told are open. */
  listed: ReadonlySet<string>;
  isLeaving: boolean;
}

/** A decider answers within milliseconds, unless it is stuck. */
const answer_milliseconds = 5000;
const mostUsesOfAnswer = 5000;
/** What a list of a hundred thousand connections rests on takes a tenth of this. */
const longest_line = 256 * 1024 * 1024;

/** That a decider, which is there, does not answer. */
export class DeciderSilent extends Error {}

/** That there is none: Squid starts another at once, and that one has to load first. */
export class DeciderAbsent extends Error {}

export class DeciderLink {
  readonly path: string;
  /** What the open connections of this Squid rest on. */
  readonly authorities = new Map<string, Authority>();
  /** Those of them that a leaving decider told since the last list. */
  #fresh = new Set<string>();
  /** What its deciders told that nobody has taken. */
  readonly #uses = new LastUsedTimes();
  readonly #events: LinkEvents;
  readonly #server: Server;
  /** While Squid is reconfigured there may be two deciders for a moment, the newest last. */
  readonly #deciders = new Set<Decider>();
  readonly #waiting = new Set<() => void>();
  #asked = 0;

  constructor(path: string, events: LinkEvents) {
    this.path = path;
    this.#events = events;
    this.#server = createServer((socket) => this.#welcome(socket));
  }

  /** Errors: those of the socket. */
  async listen(group: number | undefined): Promise<void> {
    rmSync(this.path, { force: true });
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(this.path, resolve);
    });
    chmodSync(this.path, 0o660);
    if (group !== undefined) chownSync(this.path, -1, group);
  }

  get isConnected(): boolean {
    return this.#deciders.size > 0;
  }

  /** Resolves when a decider is there. Errors: none came in time. */
  async connected(milliseconds: number): Promise<void> {
    if (this.isConnected) return;
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiting.delete(came);
        reject(new DeciderAbsent('its decider is not there'));
      }, milliseconds);
      const came = () => {
        clearTimeout(timer);
        this.#waiting.delete(came);
        resolve();
      };
      this.#waiting.add(came);
    });
  }

  /**
   * Asks all deciders; answers come from those that are still there, the newest last.
   * Errors: DeciderSilent when one does not answer, DeciderAbsent when none is left.
   */
  ask<Name extends keyof Questions>(
    name: Name,
    question: Questions[Name]['question'],
  ): Promise<Answers<Name>> {
    return this.#askAll(name, () => question);
  }

  /** Tells which client connections are open; afterwards `authorities` is of these. Errors: as of `ask`. */
  async takeList(connections: readonly string[]): Promise<void> {
    const listed = new Set(connections);
    await this.#askAll(
      'take_list',
      (decider) => {
        const before = decider.listed;
        decider.listed = listed;
        return {
          added: connections.filter((connection) => !before.has(connection)),
          removed: [...before].filter((connection) => !listed.has(connection)),
        };
      },
      // Told once: it counts whatever another decider does.
      (opened) => this.#note(opened),
    );
    for (const connection of this.authorities.keys()) {
      // The list may be from before it was opened.
      if (!listed.has(connection) && !this.#fresh.has(connection)) {
        this.authorities.delete(connection);
      }
    }
    this.#fresh = new Set();
  }

  /** When authlist entries last let somebody in, of those that did since it was last asked. */
  async takeLastUsed(): Promise<LastUsed[]> {
    try {
      for (let isMore = true; isMore; ) {
        isMore = false;
        await this.#askAll(
          'take_uses',
          () => mostUsesOfAnswer,
          (told) => {
            this.#uses.add(told);
            isMore ||= told.length === mostUsesOfAnswer;
          },
        );
      }
    } catch {
      // One that does not answer now tells it the next time; one that is gone, or was left running by
      // an agent of before this question, never does.
    }
    return this.#uses.take();
  }

  async close(): Promise<void> {
    for (const { socket } of this.#deciders) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #welcome(socket: Socket): void {
    const decider: Decider = { socket, pending: new Map(), listed: new Set(), isLeaving: false };
    this.#deciders.add(decider);
    readLines(socket, (line) => this.#hear(decider, JSON.parse(line) as FromDecider));
    socket.on('error', () => {});
    socket.on('close', () => {
      this.#deciders.delete(decider);
      if (!decider.isLeaving) this.#events.onLost();
      for (const { reject } of decider.pending.values()) reject(new Error('its decider is gone'));
    });
    if (this.authorities.size > 0) write(socket, { opened: [...this.authorities] });
    for (const came of [...this.#waiting]) came();
  }

  #hear(decider: Decider, message: FromDecider): void {
    if ('revoked' in message) {
      this.#events.onRevoked(message.revoked);
    } else if ('opened' in message) {
      this.#note(message.opened);
      this.#uses.add(message.uses ?? []);
      for (const [connection] of message.opened) this.#fresh.add(connection);
      decider.isLeaving = true;
      for (const other of this.#deciders) {
        if (!other.isLeaving) write(other.socket, { opened: message.opened });
      }
    } else {
      const { pending } = decider;
      pending.get(message.id)?.resolve(message.answer);
      pending.delete(message.id);
    }
  }

  #note(opened: Opened): void {
    for (const [connection, authority] of opened) this.authorities.set(connection, authority);
  }

  async #askAll<Name extends keyof Questions>(
    name: Name,
    questionFor: (decider: Decider) => Questions[Name]['question'],
    take?: (answer: Questions[Name]['answer']) => void,
  ): Promise<Answers<Name>> {
    const outcomes = await Promise.allSettled(
      Array.from(this.#deciders, async (decider) => {
        const answer = await this.#askOne(decider, name, questionFor(decider));
        take?.(answer as Questions[Name]['answer']);
        return answer;
      }),
    );
    const answers: unknown[] = [];
    for (const outcome of outcomes) {
      if (outcome.status === 'fulfilled') answers.push(outcome.value);
      else if (outcome.reason instanceof DeciderSilent) throw outcome.reason;
    }
    if (answers.length === 0) throw new DeciderAbsent('its decider is not there');
    return answers as Answers<Name>;
  }

  #askOne({ socket, pending }: Decider, ask: string, question: unknown): Promise<unknown> {
    this.#asked += 1;
    const id = this.#asked;
    return new Promise<unknown>((resolve, reject) => {
      const timer = setTimeout(() => {
        pending.delete(id);
        reject(new DeciderSilent('its decider does not answer'));
      }, answer_milliseconds);
      const settle =
        <T>(how: (value: T) => void) =>
        (value: T) => {
          clearTimeout(timer);
          how(value);
        };
      pending.set(id, { resolve: settle(resolve), reject: settle(reject) });
      write(socket, { id, ask, question } as Asked);
    });
  }
}

/** At least one. */
type Answers<Name extends keyof Questions> = [
  Questions[Name]['answer'],
  ...Array<Questions[Name]['answer']>,
];

function write(socket: Socket, message: ToDecider): void {
  socket.write(`${JSON.stringify(message)}\n`);
}

/** Hands out the lines that come over a socket; one who sends what is none is cut off. */
export function readLines(socket: Socket, take: (line: string) => void): void {
  let rest = '';
  socket.setEncoding('utf8');
  socket.on('data', (text: string) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    try {
      if (rest.length > longest_line) throw new Error('a line is too long');
      for (const line of lines) take(line);
    } catch (error) {
      socket.destroy(error as Error);
    }
  });
}
