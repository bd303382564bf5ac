// Live pages: streams of server-sent events, which say that records have changed, not how.

import type { ServerResponse } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { Type } from 'typebox';
import { type Own, ownedByLog } from '../../../kit/src/owner.ts';
import { isInPart, startBeats } from '../bounds/beats.ts';
import type { Context } from '../context.ts';
import { unavailable } from '../errors.ts';

const heartbeatSeconds = 15;
export const maxPerOwner = 16;
export const maxPerAccount = 64;
const maxStreamsInAll = 1000;
/** A page with this much unread has gone, or will read everything again. */
const maxUnreadBytes = 16 * 1024;

/** The events of one stream, and its owners. */
export interface Watch {
  /** Streams of one topic send the same data, which is read once for all of them. */
  topic: string;
  /** Reads the data of an event, which is sent at first and again whenever it has changed. */
  read: () => Promise<unknown>;
  /** The shortest time between two events. */
  pause_ms: number;
  /** Owners (a user and the account, or an operator's token), and their limits of streams. */
  owners: ReadonlyArray<{ name: string; max: number }>;
  /** Whether its owner may still listen; checked before each event, and at each heartbeat. */
  holds: () => Promise<boolean>;
}

/** One open page. */
class PageStream {
  readonly watch: Watch;
  /** By which it has its beats. */
  readonly number: number;
  readonly #response: ServerResponse;
  #sent = '';

  constructor(watch: Watch, number: number, response: ServerResponse) {
    this.watch = watch;
    this.number = number;
    this.#response = response;
  }
  /** Ends the stream if its owner may no longer listen; answers whether it is still open. */
  async stillHolds(): Promise<boolean> {
    if (!(await this.watch.holds())) this.close();
    return !this.#response.destroyed && !this.#response.writableEnded;
  }
  async send(data: string): Promise<void> {
    if (data === this.#sent || !(await this.stillHolds())) return;
    this.#sent = data;
    this.#write(`event: change\ndata: ${data}\n\n`);
  }
  async beat(): Promise<void> {
    if (await this.stillHolds()) this.#write(': keep\n\n');
  }
  #write(text: string): void {
    if (this.#response.writableLength > maxUnreadBytes) this.#response.destroy();
    else this.#response.write(text);
  }
  close(): void {
    this.#response.end();
  }
}

/** Streams that send the same data and are woken together. */
class Topic {
  readonly streams = new Set<PageStream>();
  readonly #read: Watch['read'];
  readonly #pauseMs: number;
  readonly #log: Logger;
  #isAwake = false;
  #isSending = false;
  #lookedAt = Number.NEGATIVE_INFINITY;

  constructor({ read, pause_ms }: Watch, log: Logger) {
    this.#read = read;
    this.#pauseMs = pause_ms;
    this.#log = log;
  }
  /** Checks now, or once the pause is over; all changes until then are one event. */
  wake(): void {
    this.#isAwake = true;
    if (this.#isSending) return;
    this.#isSending = true;
    void this.#send();
  }
  async #send(): Promise<void> {
    while (this.#isAwake) {
      const since = performance.now() - this.#lookedAt;
      if (since < this.#pauseMs) await pause(this.#pauseMs - since, null, { ref: false });
      this.#lookedAt = performance.now();
      // Before reading: a commit from here on wakes it again.
      this.#isAwake = false;
      try {
        const data = JSON.stringify(await this.#read());
        await Promise.all(Array.from(this.streams, (stream) => stream.send(data)));
      } catch (error) {
        // The next commit or heartbeat tries again.
        this.#log.warn({ err: error }, 'a change was not sent to open pages');
      }
    }
    this.#isSending = false;
  }
}

export class EventStreams {
  readonly #ctx: Context;
  readonly #own: Own;
  readonly #topics = new Map<string, Topic>();
  #opened = 0;
  readonly #stopListening: () => void;
  readonly #stopBeating: () => void;

  constructor(ctx: Context) {
    this.#ctx = ctx;
    this.#own = ownedByLog(ctx.log);
    this.#stopListening = ctx.db.listen(() => {
      for (const topic of this.#topics.values()) topic.wake();
    });
    this.#stopBeating = startBeats(this.#own, heartbeatSeconds, (part) => this.beat(part));
  }

  /** How many streams are open. */
  get size(): number {
    return this.#all().length;
  }

  /** Errors: 503 when one of the owners, or all together, have too many open streams. */
  rejectTooMany(owners: Watch['owners']): void {
    const all = this.#all();
    const isFull = ({ name, max }: Watch['owners'][number]) =>
      all.filter(({ watch }) => watch.owners.some((owner) => owner.name === name)).length >= max;
    if (all.length < maxStreamsInAll && !owners.some(isFull)) return;
    throw unavailable('There are too many streams of events open; close some, or try later.', 5, {
      code: 'too_many_streams',
    });
  }

  /** Streams on a response whose head is already written. */
  open(response: ServerResponse, watch: Watch): void {
    // The client disconnected before this: nothing would ever remove the stream from the list.
    if (response.destroyed) return;
    const stream = new PageStream(watch, this.#opened++, response);
    const topic = this.#topics.get(watch.topic) ?? new Topic(watch, this.#ctx.log);
    this.#topics.set(watch.topic, topic);
    topic.streams.add(stream);
    const closed = () => {
      topic.streams.delete(stream);
      if (topic.streams.size === 0) this.#topics.delete(watch.topic);
    };
    response.on('close', this.#own(closed));
    topic.wake();
  }

  /**
   * Sends pages a sign of life, and ends the streams whose owners may no longer listen: those of a
   * part of the period, or without a part all of them.
   */
  async beat(part?: number): Promise<void> {
    try {
      const due = this.#all().filter(({ number }) => part === undefined || isInPart(number, part));
      await Promise.all(due.map((stream) => stream.beat()));
      if (!part) for (const topic of this.#topics.values()) topic.wake();
    } catch (error) {
      // They are checked again at the next beat: until then these streams send nothing.
      this.#ctx.log.warn({ err: error }, 'open pages were not checked for whether they may stay');
    }
  }

  /** Ends all streams; pages reconnect elsewhere, or when the server is back. */
  close(): void {
    this.#stopListening();
    this.#stopBeating();
    for (const stream of this.#all()) stream.close();
  }

  #all(): PageStream[] {
    return Array.from(this.#topics.values()).flatMap((topic) => Array.from(topic.streams));
  }
}

/** The streams of an app, ended when it closes. */
export function streamsOf(app: FastifyInstance, ctx: Context): EventStreams {
  const streams = new EventStreams(ctx);
  app.addHook('preClose', async () => streams.close());
  return streams;
}

/** Sends a stream as response. Errors: 503 when there are too many. */
export function sendEvents(
  streams: EventStreams,
  request: FastifyRequest,
  reply: FastifyReply,
  watch: Watch,
): FastifyReply {
  if (request.method === 'HEAD') return reply.type('text/event-stream').send();
  streams.rejectTooMany(watch.owners);
  reply.hijack();
  reply.raw.setTimeout(0);
  reply.raw.writeHead(200, {
    ...(reply.getHeaders() as Record<string, string>),
    'content-type': 'text/event-stream',
    'x-accel-buffering': 'no',
  });
  reply.raw.flushHeaders();
  streams.open(reply.raw, watch);
  return reply;
}

export const Events = (data: string) =>
  Type.String({
    contentMediaType: 'text/event-stream',
    description: `\`change\` events, the first at once; their data is ${data}. A comment every ${heartbeatSeconds} seconds.`,
  });
