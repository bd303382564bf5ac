// The change stream: one reader of the log per process hands each change to the streams that need
// it. A stream that has not caught up reads the log by itself, at the pace of its node.

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
import { OpenStreams } from './open_streams.ts';
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

const changesPerPage = 500;
/** The rows of this many changes are read at once, and sent with the values of that moment. */
const changesPerRead = 64;
/** How much of the log one page of a stream that catches up may scan. */
const maxRevisionsScanned = 20_000;
const heartbeatSeconds = 15;
/** A node that has missed more changes takes a snapshot, which is shorter. */
const maxChangesBehind = 50_000;
const retrySeconds = 1;

/** A server that needs a change of an account. */
interface Concerned {
  server_id: number;
  /** The account has left it since; a later change of the log says so. */
  has_left: boolean;
}

export class Feed {
  readonly #ctx: Context;
  readonly #own: Own;
  readonly #stalledSeconds: number;
  readonly #streams = new OpenStreams();
  readonly #stopListening: () => void;
  readonly #stopBeating: () => void = () => {};
  /** Whether the database could be read when the current heartbeat period began. */
  #isReadable = true;
  /**
   * The last revision that was handed out, and its history; undefined until the first stream opens.
   */
  #handedOut: Position | undefined;
  /** The revisions of changes whose first read failed; the next failure is final. */
  readonly #failedOnce = new Set<number>();
  #isReading = false;
  #mustReadAgain = false;
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
    return this.#streams.all().length;
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
    if (now.revision - revision <= maxChangesBehind) return true;
    // Most revisions are not in the log, since nodes have nothing to apply: its changes count.
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
    this.#streams.add(stream);
    response.on(
      'close',
      this.#own(() => this.#streams.remove(stream)),
    );
    this.#startCatchingUp(stream);
  }

  /** Ends all streams; nodes reconnect to another process, or when the server is back. */
  close(): void {
    this.#isClosed = true;
    this.#stopListening();
    clearTimeout(this.#retry);
    this.#stopBeating();
    for (const stream of this.#streams.all()) stream.close();
  }

  /** Sends the stream what it has missed, at its node's pace; from then on it gets changes live. */
  #startCatchingUp(stream: NodeStream): void {
    stream.isCatchingUp = true;
    stream.notifiedAt = Number.POSITIVE_INFINITY;
    void this.#catchUp(stream).catch((error) => {
      this.#ctx.log.warn({ err: error, node: stream.node.name }, 'a change stream was cut');
      stream.cut();
    });
  }

  async #catchUp(stream: NodeStream): Promise<void> {
    const { db } = this.#ctx;
    const { server_id } = stream.node;
    let after = stream.sent;
    for (;;) {
      await stream.untilRead();
      if (!stream.isOpen) return;
      stream.hasMissed = false;
      const { epoch, revision } = await networkPosition(db);
      if (epoch !== stream.epoch) return stream.close();
      const upTo = Math.max(after, Math.min(after + maxRevisionsScanned, revision));
      const changes = await log.changesOfServer(db, server_id, after, upTo, changesPerPage);
      // The log may have been pruned before the page was read. The node reconnects and gets 409.
      if (upTo > after && !(await this.#isWholeAfter(after, revision))) return stream.close();
      /** By account: the last change of the page that sends everything of the account. */
      const sentWholeAt = new Map<number | null, number>();
      for (const change of changes) {
        if (change.kind === 'account') sentWholeAt.set(change.account_id, change.revision);
      }
      stream.noteLong(changes.some(isLong));
      for (const change of changes) {
        if (!stream.isOpen) return;
        // Everything of the account follows: until then it is absent, so that it is sent only once.
        const isSentLater = change.revision < (sentWholeAt.get(change.account_id) ?? 0);
        const pieces =
          isLong(change) && isSentLater
            ? justGone(change.account_id)
            : this.#pieces(change, server_id);
        await stream.untilRead();
        await stream.sendPaced(change, pieces);
      }
      after = changes.length === changesPerPage ? (changes.at(-1)?.revision ?? upTo) : upTo;
      if (changes.length > 0 || upTo < revision || stream.hasMissed) {
        // Reads of SQLite don't yield to the event loop, which sends what was written.
        await setImmediate();
        continue;
      }
      // The page was empty, and no change was handed out since: from now on the stream is live.
      stream.isCatchingUp = false;
      stream.notifiedAt = this.#ctx.clock.now();
      stream.sendPosition(revision);
      return;
    }
  }

  /** The records of a change, from `rows` if they were read already. */
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

  /** The records of any change, also of a long one, in pieces of limited length. */
  async *#pieces(change: LoggedChange, server_id: number) {
    const { db, secrets } = this.#ctx;
    try {
      yield* piecesOfChange(db, change, server_id, secrets);
    } catch (error) {
      yield this.#closedRecords(change, error);
    }
  }

  /**
   * The records of a change that cannot be read, not at the second attempt either: its access ends,
   * so that later changes, such as revocations, are not held up. Errors: `error` at the first
   * attempt, and while the database does not answer.
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
    if (this.#isReading) {
      this.#mustReadAgain = true;
      return;
    }
    this.#isReading = true;
    void this.#handOut()
      .catch((error) => {
        this.#ctx.log.warn({ err: error }, 'the change log could not be read');
        // The next commit, which would wake it, may be far away.
        clearTimeout(this.#retry);
        this.#retry = setTimeout(
          this.#own(() => this.#wake()),
          retrySeconds * 1000,
        );
        this.#retry.unref();
      })
      .finally(() => {
        this.#isReading = false;
        if (this.#mustReadAgain) {
          this.#mustReadAgain = false;
          this.#wake();
        }
      });
  }

  async #handOut(): Promise<void> {
    for (;;) {
      const { epoch: lastEpoch = '', revision: last = 0 } = this.#handedOut ?? {};
      const changes = await log.changesAfter(this.#ctx.db, last, changesPerPage);
      const [first] = changes;
      if (!first) return;
      const { epoch } = first;
      if (epoch !== lastEpoch) this.#cutOthers(epoch);
      const serversOf = await this.#serversOf(changes, last);
      const serversChanged = new Set<number>();
      for (let at = 0; at < changes.length; at += changesPerRead) {
        const deliveries = changes.slice(at, at + changesPerRead).map((change) => {
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
        await this.#cutEnded(Array.from(this.#streams.ofServer(server_id)));
      }
      // A change that was committed since has set `#mustReadAgain`.
      if (changes.length < changesPerPage) return;
      await setImmediate();
    }
  }

  /** The nodes of another history reconnect, and learn that they need a snapshot. */
  #cutOthers(epoch: string): void {
    for (const stream of this.#streams.all()) if (stream.epoch !== epoch) stream.cut();
  }

  /** The rows of several changes. Undefined if that fails: then each change reads its own. */
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
    if (ids.length === 0 || this.#streams.isEmpty) return new Map();
    const rows = await log.serversOfAccounts(this.#ctx.db, ids, after);
    return Map.groupBy(
      rows.map(({ has_left, ...row }) => ({ ...row, has_left: has_left === 1 })),
      (row) => row.account_id,
    );
  }

  /** The servers with open streams that need a change. */
  #concerned(change: LoggedChange, serversOf: Map<number, Concerned[]>): Concerned[] {
    const onServer = (server_id: number) => ({ server_id, has_left: false });
    const all =
      change.server_id !== null
        ? [onServer(change.server_id)]
        : change.account_id !== null
          ? (serversOf.get(change.account_id) ?? [])
          : Array.from(this.#streams.servers, onServer);
    return all.filter(({ server_id }) => this.#streams.hasServer(server_id));
  }

  async #handOutChange(
    change: LoggedChange,
    servers: Concerned[],
    rows: CurrentRows | undefined,
  ): Promise<void> {
    let shared: SentRecord[] | undefined;
    for (const { server_id, has_left } of servers) {
      if (!this.#streams.hasServer(server_id)) continue;
      // Each stream reads a long change by itself, so that the others are not delayed.
      const isApart = isLong(change) && !has_left;
      // An account that has left is gone at once, whatever the change was.
      const records = isApart
        ? []
        : has_left
          ? [goneRecord(change.account_id)]
          : (shared ?? (await this.#records(change, server_id, rows)));
      if (records[0] && isSameEverywhere(records[0])) shared = records;
      for (const stream of this.#streams.ofServer(server_id)) {
        if (stream.isCatchingUp) {
          stream.hasMissed = true;
          if (mayRevoke(records)) stream.sendAhead(change, records);
        } else if (isApart || !stream.sendLive(change.revision, records)) {
          this.#startCatchingUp(stream);
        }
      }
    }
  }

  /**
   * Cuts the streams of revoked nodes, and of nodes that are offline although everything was sent:
   * what is written to these only fills a buffer of the system. A node that still exists
   * reconnects. One that is still catching up may need longer to acknowledge, and is not cut.
   */
  async #cutEnded(streams: NodeStream[]): Promise<void> {
    const { db, clock, config } = this.#ctx;
    const nodes = await currentNodes(db);
    const since = clock.now() - config.node_lost_seconds;
    for (const stream of streams) {
      const isLive = nodes.get(stream.node.id);
      if (isLive === undefined || (!isLive && stream.notifiedAt <= since)) stream.cut();
    }
  }

  /**
   * Sends nodes the newest revision: one part of them at a time, so that they don't acknowledge all
   * at once, or all of them when `part` is left out. Part 0 begins a period: the streams of revoked
   * and offline nodes end. If the database does not answer then, the period has no heartbeats, and
   * the nodes reconnect, perhaps to a process that reaches it.
   */
  async beat(part?: number): Promise<void> {
    if (part === undefined || part === 0) this.#isReadable = await this.#beginPeriod();
    if (!this.#isReadable) return;
    const newest = this.#handedOut?.revision ?? 0;
    for (const stream of this.#streams.all()) {
      const isDue = part === undefined || isInPart(stream.node.id, part);
      if (isDue && !stream.isCatchingUp) stream.sendPosition(newest);
    }
  }

  /** Removes and cuts streams that have ended. False when the database does not answer. */
  async #beginPeriod(): Promise<boolean> {
    for (const stream of this.#streams.all()) if (!stream.isOpen) this.#streams.remove(stream);
    const streams = this.#streams.all();
    if (streams.length === 0) return true;
    try {
      await this.#cutEnded(streams);
      return true;
    } catch (error) {
      this.#ctx.log.warn({ err: error }, 'nodes were not sent the newest revision');
      return false;
    }
  }
}
