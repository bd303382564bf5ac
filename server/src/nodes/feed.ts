// The change stream: one reader of the log per process hands each change to the streams that need it.
import type { ServerResponse } from 'node:http';
import type { LoggedChange } from '../changes.ts';
import type { Context } from '../context.ts';
import type { Actor } from '../db/database.ts';
import { type Node, noteConnected } from './nodes.ts';
import { type NodeRecord, recordsOfChange } from './records.ts';
import * as store from './store.ts';

const page = 500;
/** One page of a stream that catches up looks at no more of the log than this. */
const mostRevisionsScanned = 20_000;
const heartbeat_seconds = 15;
/** A node that does not read is cut off; it resumes where it was. */
const mostUnsentBytes = 16 * 1024 * 1024;

/** One node's open stream. */
class Stream {
  readonly node: Node;
  readonly #response: ServerResponse;
  readonly #epoch: string;
  /** The last revision sent. */
  sent: number;
  /** Still reading the log by itself; `missed` says that a live change passed meanwhile. */
  catchingUp = true;
  missed = false;
  /** Something went out since the last look. */
  #flushed = false;

  constructor(node: Node, response: ServerResponse, epoch: string, revision: number) {
    this.node = node;
    this.#response = response;
    this.#epoch = epoch;
    this.sent = revision;
  }
  get open(): boolean {
    return !this.#response.destroyed && !this.#response.writableEnded;
  }
  /** Sends the records of one revision as one event, so that they are applied together. */
  send(revision: number, records: NodeRecord[]): void {
    if (revision <= this.sent) return;
    this.sent = revision;
    this.#write(
      `id: ${this.#epoch}:${revision}\nevent: change\ndata: ${JSON.stringify(records)}\n\n`,
    );
  }
  /** Tells how far the log is, so that an idle node acknowledges that too. */
  position(revision: number): void {
    if (revision > this.sent) this.sent = revision;
    this.#write(`id: ${this.#epoch}:${this.sent}\nevent: position\ndata: ${this.sent}\n\n`);
  }
  #write(text: string): void {
    if (!this.open) return;
    if (this.#response.writableLength > mostUnsentBytes) this.cut();
    else {
      this.#response.write(text, (error) => {
        if (!error) this.#flushed = true;
      });
    }
  }
  /** True when the other side took something since the last call, or has nothing left to take. */
  reads(): boolean {
    const reads = this.#flushed || this.#response.writableLength === 0;
    this.#flushed = false;
    return reads;
  }
  /** Ends it after what is under way. */
  close(): void {
    this.#response.end();
  }
  /** Ends it now: one that does not read would never see the end of what is under way. */
  cut(): void {
    this.#response.destroy();
  }
}

const system: Actor = { kind: 'system', name: 'change stream', address: '', request_id: '' };

export class Feed {
  readonly #ctx: Context;
  readonly #streams = new Map<number, Set<Stream>>();
  readonly #stopListening: () => void;
  readonly #heartbeat: NodeJS.Timeout;
  /** The last revision that was handed out; undefined until a first stream opens. */
  #handedOut: number | undefined;
  #reading = false;
  #readAgain = false;

  constructor(ctx: Context) {
    this.#ctx = ctx;
    this.#stopListening = ctx.db.listen(() => this.#wake());
    this.#heartbeat = setInterval(() => void this.beat(), heartbeat_seconds * 1000);
    this.#heartbeat.unref();
  }

  /** How many streams are open. */
  get size(): number {
    return this.#all().length;
  }

  /**
   * Whether the log still tells what came after `revision`. Where it does not (pruned, or another
   * history since a backup was restored) a node must take a new snapshot.
   */
  async reaches(epoch: string, revision: number): Promise<boolean> {
    const now = await store.position(this.#ctx.db);
    const oldest = await store.oldestChange(this.#ctx.db);
    if (epoch !== now.epoch || revision > now.revision) return false;
    this.#handedOut ??= now.revision;
    return oldest === undefined ? revision === now.revision : revision + 1 >= oldest;
  }

  /** Streams to a node what comes after `revision`; the response's head is written already. */
  open(node: Node, response: ServerResponse, epoch: string, revision: number): void {
    const stream = new Stream(node, response, epoch, revision);
    const others = this.#streams.get(node.server_id) ?? new Set();
    this.#streams.set(node.server_id, others.add(stream));
    response.on('close', () => {
      others.delete(stream);
      if (others.size === 0 && this.#streams.get(node.server_id) === others) {
        this.#streams.delete(node.server_id);
      }
    });
    void this.#catchUp(stream).catch((error) => {
      this.#ctx.log.error({ err: error }, 'a change stream ended');
      stream.close();
    });
  }

  /** Ends all streams; nodes connect again elsewhere, or when the server is back. */
  close(): void {
    this.#stopListening();
    clearInterval(this.#heartbeat);
    for (const stream of this.#all()) stream.close();
  }

  #all(): Stream[] {
    return Array.from(this.#streams.values()).flatMap((streams) => Array.from(streams));
  }

  async #catchUp(stream: Stream): Promise<void> {
    const { server_id } = stream.node;
    let from = stream.sent;
    while (stream.open) {
      stream.missed = false;
      const { revision } = await store.position(this.#ctx.db);
      const to = Math.max(from, Math.min(from + mostRevisionsScanned, revision));
      const changes = await store.changesOfServer(this.#ctx.db, server_id, from, to, page);
      for (const change of changes)
        stream.send(change.revision, await this.#records(change, server_id));
      from = changes.length === page ? (changes.at(-1)?.revision ?? to) : to;
      if (changes.length > 0 || to < revision || stream.missed) continue;
      // Nothing came between the empty page and here: from now on changes are handed out live.
      stream.catchingUp = false;
      stream.position(revision);
      return;
    }
  }

  #records(change: LoggedChange, server_id: number): Promise<NodeRecord[]> {
    const { db, secrets, clock } = this.#ctx;
    return recordsOfChange(db, change, server_id, secrets.publicKeys(), clock.now());
  }

  #wake(): void {
    if (this.#handedOut === undefined) return;
    if (this.#reading) {
      this.#readAgain = true;
      return;
    }
    this.#reading = true;
    void this.#handOut()
      .catch((error) => this.#ctx.log.warn({ err: error }, 'the change log could not be read'))
      .finally(() => {
        this.#reading = false;
        if (this.#readAgain) {
          this.#readAgain = false;
          this.#wake();
        }
      });
  }

  async #handOut(): Promise<void> {
    for (;;) {
      const changes = await store.changesAfter(this.#ctx.db, this.#handedOut ?? 0, page);
      if (changes.length === 0) return;
      const serversOf = await this.#serversOf(changes);
      const serversChanged = new Set<number>();
      for (const change of changes) {
        const server_ids = this.#concerned(change, serversOf);
        await this.#handOutOne(change, server_ids);
        this.#handedOut = change.revision;
        if (change.kind === 'server') for (const id of server_ids) serversChanged.add(id);
      }
      for (const server_id of serversChanged) await this.#cutRevoked(server_id);
    }
  }

  async #serversOf(changes: LoggedChange[]): Promise<Map<number, number[]>> {
    const accounts = changes.filter(
      (change) => change.server_id === null && change.account_id !== null,
    );
    const ids = Array.from(new Set(accounts.map((change) => change.account_id as number)));
    if (ids.length === 0 || this.#streams.size === 0) return new Map();
    const rows = await store.serversOfAccounts(this.#ctx.db, ids);
    const servers = new Map<number, number[]>();
    for (const { account_id, server_id } of rows) {
      const known = servers.get(account_id);
      if (known) known.push(server_id);
      else servers.set(account_id, [server_id]);
    }
    return servers;
  }

  /** The servers with open streams that need a change. */
  #concerned(change: LoggedChange, serversOf: Map<number, number[]>): number[] {
    const all =
      change.server_id !== null
        ? [change.server_id]
        : change.account_id !== null
          ? (serversOf.get(change.account_id) ?? [])
          : Array.from(this.#streams.keys());
    return all.filter((server_id) => this.#streams.has(server_id));
  }

  async #handOutOne(change: LoggedChange, server_ids: number[]): Promise<void> {
    // Users and addresses look the same to every server: read once for all of them.
    const same =
      change.kind === 'user' || change.kind === 'authlist' || change.kind === 'authlist_cleared';
    let shared: NodeRecord[] | undefined;
    for (const server_id of server_ids) {
      const streams = this.#streams.get(server_id);
      if (!streams) continue;
      const records = shared ?? (await this.#records(change, server_id));
      if (same) shared = records;
      for (const stream of streams) {
        if (stream.catchingUp) stream.missed = true;
        else stream.send(change.revision, records);
      }
    }
  }

  /** A revocation is a change of the server: ends the streams of its nodes that are revoked. */
  async #cutRevoked(server_id: number): Promise<void> {
    const nodes = await store.ofServer(this.#ctx.db, server_id);
    const ids = new Set(nodes.map((node) => node.id));
    for (const stream of this.#streams.get(server_id) ?? []) {
      if (!ids.has(stream.node.id)) stream.cut();
    }
  }

  /** Tells nodes how far the log is, marks those that read as live, and ends the streams of revoked ones. */
  async beat(): Promise<void> {
    for (const streams of this.#streams.values()) {
      for (const stream of streams) if (!stream.open) streams.delete(stream);
    }
    const streams = this.#all();
    if (streams.length === 0) return;
    try {
      const reading = streams.filter((stream) => stream.reads());
      const ids = Array.from(new Set(reading.map((stream) => stream.node.id)));
      const gone = await this.#ctx.db.write(system, (tx) => noteConnected(tx, ids));
      for (const stream of streams) {
        if (gone.includes(stream.node.id)) stream.cut();
        else if (!stream.catchingUp) stream.position(this.#handedOut ?? 0);
      }
    } catch (error) {
      this.#ctx.log.warn({ err: error }, 'nodes could not be marked as live');
    }
  }
}
