// The change stream: one reader of the log per process hands each change to the streams that need
// it.

import type { Writable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import type { SentRecord } from '../../../kit/src/node_interface.ts';
import { type Own, ownedByLog } from '../../../kit/src/owner.ts';
import { isInPart, startBeats } from '../bounds/beats.ts';
import { type LoggedChange, networkPosition, type Position } from '../changes/changes.ts';
import type { Context } from '../context.ts';
import { isUnavailable } from '../db/faults.ts';
import { maxStalledSeconds } from './backpressure.ts';
import { type CurrentRows, readCurrentRows } from './current_rows.ts';
import * as log from './log_store.ts';
import { NodeStream } from './node_stream.ts';
import type { Node } from './nodes.ts';
import {
  closedRecords,
  goneRecord,
  isLong,
  isSameEverywhere,
  justGone,
  mayRevoke,
  piecesOfChange,
  recordsOfChange,
} from './records.ts';
import { currentNodes } from './store.ts';

const page = 500;
/** The rows that this many changes refer to are read together and sent as they were then. */
const readTogether = 64;
/** How much of the log one page of a stream that catches up may scan. */
const maxRevisionsScanned = 20_000;
const heartbeatSeconds = 15;
/** A node with more of the log to read than this takes a snapshot, which is shorter. */
const maxChangesBehind = 50_000;
const retrySeconds = 1;
/** A node that reconnects still has its old stream for a moment; any older stream has no reader. */
const maxStreamsPerNode = 2;

/** A server that needs a change of an account. */
interface Concerned {
  server_id: number;
  /** The account is no longer on it; a later change says so. */
  has_left: boolean;
}

export class Feed {
  readonly #ctx: Context;
  readonly #own: Own;
  readonly #stalledSeconds: number;
  readonly #streams = new Map<number, Set<NodeStream>>();
  readonly #stopListening: () => void;
  readonly #stopBeating: () => void = () => {};
  /** Whether the last look for lost and revoked nodes was answered. */
  #isCertain = true;
  /**
   * The last revision that was handed out, and its history; undefined until the first stream opens.
   */
  #handedOut: Position | undefined;
  /** The revisions of changes that could not be read, and are tried once more. */
  readonly #failedOnce = new Set<number>();
  #reading = false;
  #readAgain = false;
  #retry: NodeJS.Timeout | undefined;
  #isClosed = false;

  /**
   * Cuts a stream that catches up when its node reads nothing for `stalled_seconds`. A simulation
   * calls `beat` by its own clock, and passes false for `beats`.
   */
  constructor(ctx: Context, { stalled_seconds = maxStalledSeconds, beats = true } = {}) {
    this.#ctx = ctx;
    this.#own = ownedByLog(ctx.log);
    this.#stalledSeconds = stalled_seconds;
    this.#stopListening = ctx.db.listen(() => this.#wake());
    if (beats)
      this.#stopBeating = startBeats(this.#own, heartbeatSeconds, (part) => this.beat(part));
  }

  /** How many streams are open. */
  get size(): number {
    return this.#all().length;
  }

  /**
   * Whether the log still has all changes after `revision`, and not too many of them. Otherwise
   * (pruned, or another history after a backup was restored) a node must take a new snapshot.
   */
  async reaches(epoch: string, revision: number): Promise<boolean> {
    const { db } = this.#ctx;
    const now = await networkPosition(db);
    if (epoch !== now.epoch || revision > now.revision) return false;
    this.#handedOut ??= now;
    if (!(await this.#isWholeAfter(revision, now.revision))) return false;
    // Most revisions are no changes for nodes: if there are too many, count only those that are.
    if (now.revision - revision <= maxChangesBehind) return true;
    return !(await log.hasMoreChanges(db, revision, maxChangesBehind));
  }

  /** Whether no change after a revision was pruned. */
  async #isWholeAfter(after: number, newest: number): Promise<boolean> {
    const oldest = await log.oldestChange(this.#ctx.db);
    return oldest === undefined ? after === newest : after + 1 >= oldest;
  }

  /**
   * Streams the changes after `revision` to a node. The head of the response is written already.
   */
  open(node: Node, response: Writable, epoch: string, revision: number): void {
    const stream = new NodeStream(node, response, { epoch, revision }, this.#stalledSeconds);
    const streams = this.#streams.get(node.server_id) ?? new Set();
    const ofNode = Array.from(streams).filter((older) => older.node.id === node.id && older.open);
    // The node reads the newest one.
    for (const older of ofNode.slice(0, ofNode.length + 1 - maxStreamsPerNode)) older.cut();
    this.#streams.set(node.server_id, streams.add(stream));
    const forget = () => {
      streams.delete(stream);
      if (streams.size === 0 && this.#streams.get(node.server_id) === streams) {
        this.#streams.delete(node.server_id);
      }
    };
    response.on('close', this.#own(forget));
    this.#startCatchingUp(stream);
  }

  /** Ends all streams; nodes reconnect to another process, or when the server is back. */
  close(): void {
    this.#isClosed = true;
    this.#stopListening();
    clearTimeout(this.#retry);
    this.#stopBeating();
    for (const stream of this.#all()) stream.close();
  }

  #all(): NodeStream[] {
    return Array.from(this.#streams.values()).flatMap((streams) => Array.from(streams));
  }

  /**
   * Sends the log after the last revision sent, at the node's pace. Then the stream gets changes
   * live.
   */
  #startCatchingUp(stream: NodeStream): void {
    stream.catchingUp = true;
    stream.notifiedAt = Number.POSITIVE_INFINITY;
    void this.#catchUp(stream).catch((error) => {
      this.#ctx.log.warn({ err: error, node: stream.node.name }, 'a change stream was cut');
      stream.cut();
    });
  }

  async #catchUp(stream: NodeStream): Promise<void> {
    const { db } = this.#ctx;
    const { server_id } = stream.node;
    let from = stream.sent;
    for (;;) {
      await stream.untilRead();
      if (!stream.open) return;
      stream.missed = false;
      const { epoch, revision } = await networkPosition(db);
      if (epoch !== stream.epoch) return stream.close();
      const to = Math.max(from, Math.min(from + maxRevisionsScanned, revision));
      const changes = await log.changesOfServer(db, server_id, from, to, page);
      // Checked after reading the page: changes that it lacks were pruned before. The node
      // reconnects and gets 409.
      if (to > from && !(await this.#isWholeAfter(from, revision))) return stream.close();
      /** By account: the last of these changes with which it is sent whole. */
      const sentWholeAt = new Map<number | null, number>();
      for (const change of changes) {
        if (change.kind === 'account') sentWholeAt.set(change.account_id, change.revision);
      }
      stream.noteLong(changes.some(isLong));
      for (const change of changes) {
        if (!stream.open) return;
        // Until an account is sent whole, it is absent.
        const isToCome = change.revision < (sentWholeAt.get(change.account_id) ?? 0);
        const pieces =
          isLong(change) && isToCome
            ? justGone(change.account_id)
            : this.#pieces(change, server_id);
        await stream.untilRead();
        await stream.sendPaced(change, pieces);
      }
      from = changes.length === page ? (changes.at(-1)?.revision ?? to) : to;
      if (changes.length > 0 || to < revision || stream.missed) {
        // SQLite answers without a turn of the event loop, so nothing would be sent before the end.
        await setImmediate();
        continue;
      }
      // No change came between the empty page and this line: from now on changes are handed out
      // live.
      stream.catchingUp = false;
      stream.notifiedAt = this.#ctx.clock.now();
      stream.position(revision);
      return;
    }
  }

  /** The records of a change; without `rows`, it reads its own. */
  async #records(
    change: LoggedChange,
    server_id: number,
    rows: CurrentRows | undefined,
  ): Promise<SentRecord[]> {
    const { db, secrets } = this.#ctx;
    try {
      const current = rows ?? (await readCurrentRows(db, [{ change, server_ids: [server_id] }]));
      return await recordsOfChange(db, change, server_id, secrets, current);
    } catch (error) {
      return this.#closedRecords(change, error);
    }
  }

  /** The same for any change, in pieces of limited length. */
  async *#pieces(change: LoggedChange, server_id: number) {
    const { db, secrets } = this.#ctx;
    try {
      yield* piecesOfChange(db, change, server_id, secrets);
    } catch (error) {
      yield this.#closedRecords(change, error);
    }
  }

  /**
   * The records of a change that can't be read at the second try either: it must not hold up those
   * after it, revocations among them. Errors: `error` at the first try, and while the database does
   * not answer.
   */
  #closedRecords(change: LoggedChange, error: unknown): SentRecord[] {
    const { revision, kind, account_id, record_id } = change;
    if (isUnavailable(error) || !this.#failedOnce.delete(revision)) {
      this.#failedOnce.add(revision);
      throw error;
    }
    const change_of = { revision, kind, account_id, record_id };
    this.#ctx.log.error({ err: error, ...change_of }, 'a change cannot be read: access by it ends');
    return closedRecords(change);
  }

  #wake(): void {
    if (this.#handedOut === undefined || this.#isClosed) return;
    if (this.#reading) {
      this.#readAgain = true;
      return;
    }
    this.#reading = true;
    void this.#handOut()
      .catch((error) => {
        this.#ctx.log.warn({ err: error }, 'the change log could not be read');
        // There may be no commit for a long time that would wake it.
        clearTimeout(this.#retry);
        this.#retry = setTimeout(
          this.#own(() => this.#wake()),
          retrySeconds * 1000,
        );
        this.#retry.unref();
      })
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
      const { epoch: lastEpoch = '', revision: last = 0 } = this.#handedOut ?? {};
      const changes = await log.changesAfter(this.#ctx.db, last, page);
      const [first] = changes;
      if (!first) return;
      const { epoch } = first;
      if (epoch !== lastEpoch) this.#cutOthers(epoch);
      const serversOf = await this.#serversOf(changes, last);
      const serversChanged = new Set<number>();
      for (let at = 0; at < changes.length; at += readTogether) {
        const deliveries = changes.slice(at, at + readTogether).map((change) => {
          const servers = this.#concerned(change, serversOf);
          return { change, servers, server_ids: servers.map(({ server_id }) => server_id) };
        });
        const rows = await this.#rowsOf(deliveries);
        for (const { change, servers, server_ids } of deliveries) {
          await this.#handOutChange(change, servers, rows);
          this.#handedOut = { epoch, revision: change.revision };
          if (change.kind === 'server') for (const id of server_ids) serversChanged.add(id);
        }
      }
      for (const server_id of serversChanged) {
        await this.#cutRevoked(Array.from(this.#streams.get(server_id) ?? []));
      }
      // A commit meanwhile has woken it again.
      if (changes.length < page) return;
      await setImmediate();
    }
  }

  /** The nodes of another history reconnect, and learn that they need a snapshot. */
  #cutOthers(epoch: string): void {
    for (const stream of this.#all()) if (stream.epoch !== epoch) stream.cut();
  }

  /** The rows of several changes; undefined where that fails: then each is read by itself. */
  #rowsOf(deliveries: Parameters<typeof readCurrentRows>[1]): Promise<CurrentRows | undefined> {
    return readCurrentRows(this.#ctx.db, deliveries).catch((error) => {
      if (isUnavailable(error)) throw error;
      return undefined;
    });
  }

  async #serversOf(changes: LoggedChange[], after: number): Promise<Map<number, Concerned[]>> {
    const accounts = changes.filter(
      (change) => change.server_id === null && change.account_id !== null,
    );
    const ids = Array.from(new Set(accounts.map((change) => change.account_id as number)));
    if (ids.length === 0 || this.#streams.size === 0) return new Map();
    const rows = await log.serversOfAccounts(this.#ctx.db, ids, after);
    return Map.groupBy(
      rows.map(({ has_left, ...row }) => ({ ...row, has_left: has_left === 1 })),
      (row) => row.account_id,
    );
  }

  /** The servers with open streams that need a change. */
  #concerned(change: LoggedChange, serversOf: Map<number, Concerned[]>): Concerned[] {
    const named = (server_id: number) => ({ server_id, has_left: false });
    const all =
      change.server_id !== null
        ? [named(change.server_id)]
        : change.account_id !== null
          ? (serversOf.get(change.account_id) ?? [])
          : Array.from(this.#streams.keys(), named);
    return all.filter(({ server_id }) => this.#streams.has(server_id));
  }

  async #handOutChange(
    change: LoggedChange,
    servers: Concerned[],
    rows: CurrentRows | undefined,
  ): Promise<void> {
    let shared: SentRecord[] | undefined;
    for (const { server_id, has_left } of servers) {
      const streams = this.#streams.get(server_id);
      if (!streams) continue;
      // Each stream reads a long change by itself, so that the others are not delayed.
      const isApart = isLong(change) && !has_left;
      // Any change of an account that is about to leave is sent as its leaving.
      const records = isApart
        ? []
        : has_left
          ? [goneRecord(change.account_id)]
          : (shared ?? (await this.#records(change, server_id, rows)));
      if (records[0] && isSameEverywhere(records[0])) shared = records;
      for (const stream of streams) {
        if (stream.catchingUp) {
          stream.missed = true;
          if (mayRevoke(records)) stream.sendAhead(change, records);
        } else if (isApart || !stream.sendLive(change.revision, records)) {
          this.#startCatchingUp(stream);
        }
      }
    }
  }

  /** Ends the streams whose nodes are revoked. A revocation is a change of the server. */
  async #cutRevoked(streams: NodeStream[]): Promise<void> {
    const nodes = await currentNodes(this.#ctx.db);
    for (const stream of streams) if (!nodes.has(stream.node.id)) stream.cut();
  }

  /**
   * Ends the streams of lost nodes: data written to them stays in a buffer of the system. A node
   * that still exists reconnects and acknowledges. One that is still reading what it missed may
   * need longer.
   */
  async #cutLost(streams: NodeStream[]): Promise<void> {
    const { db, clock, config } = this.#ctx;
    const nodes = await currentNodes(db);
    const since = clock.now() - config.node_lost_seconds;
    for (const stream of streams) {
      if (nodes.get(stream.node.id) === false && stream.notifiedAt <= since) stream.cut();
    }
  }

  /**
   * Sends nodes the newest revision: those of a part of the period, so that they do not all
   * acknowledge at once, or without a part all of them. Once in a period it ends the streams of
   * lost and revoked nodes.
   */
  async beat(part?: number): Promise<void> {
    if (!part) this.#isCertain = await this.#cutEnded();
    if (!this.#isCertain) return;
    const newest = this.#handedOut?.revision ?? 0;
    for (const stream of this.#all()) {
      const isDue = part === undefined || isInPart(stream.node.id, part);
      if (isDue && !stream.catchingUp) stream.position(newest);
    }
  }

  /**
   * Ends the streams of lost and revoked nodes. False when the database does not answer: without
   * positions nodes reconnect, perhaps to a process that reaches it.
   */
  async #cutEnded(): Promise<boolean> {
    for (const streams of this.#streams.values()) {
      for (const stream of streams) if (!stream.open) streams.delete(stream);
    }
    const streams = this.#all();
    if (streams.length === 0) return true;
    try {
      await this.#cutRevoked(streams);
      await this.#cutLost(streams);
      return true;
    } catch (error) {
      this.#ctx.log.warn({ err: error }, 'nodes were not sent the newest revision');
      return false;
    }
  }
}
