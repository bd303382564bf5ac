// The open stream of one node: live while it reads fast enough, else at its own pace.
import type { Writable } from 'node:stream';
import type { SentRecord } from '../../../kit/src/node_interface.ts';
import type { LoggedChange, Position } from '../changes/changes.ts';
import { untilRead } from './backpressure.ts';
import type { Node } from './nodes.ts';
import { isLong } from './records.ts';

/** A stream with more than this unread is sent the rest at the pace of its node. */
const maxUnreadBytes = 1024 * 1024;

/** One node's open stream. */
export class NodeStream {
  readonly node: Node;
  readonly #response: Writable;
  readonly epoch: string;
  readonly #stalledSeconds: number;
  /** The last revision that was sent. */
  sent: number;
  /**
   * The account whose long change is being sent: null between two of them, undefined when there is
   * none.
   */
  #sending: number | null | undefined;
  /** True while it reads the log by itself; `hasMissed`: a live change passed meanwhile. */
  isCatchingUp = true;
  hasMissed = false;
  /**
   * Since when (epoch seconds) everything has been sent, so that the node has to acknowledge it.
   */
  notifiedAt = Number.POSITIVE_INFINITY;

  constructor(
    node: Node,
    response: Writable,
    { epoch, revision }: Position,
    stalled_seconds: number,
  ) {
    this.node = node;
    this.#response = response;
    this.epoch = epoch;
    this.#stalledSeconds = stalled_seconds;
    this.sent = revision;
  }
  get isOpen(): boolean {
    return !this.#response.destroyed && !this.#response.writableEnded;
  }
  /**
   * Sends the records of one revision when it is committed. False, and nothing is sent, when the
   * node reads too slowly.
   */
  sendLive(revision: number, records: SentRecord[]): boolean {
    if (revision <= this.sent || !this.isOpen) return true;
    const event = this.#eventOf(revision, records);
    if (this.#response.writableLength + event.length > maxUnreadBytes) return false;
    this.sent = revision;
    this.#response.write(event);
    return true;
  }
  /**
   * Sends them as fast as the node reads, in any number of pieces. Each piece except the last
   * carries the previous revision: the node applies it, and acknowledges the change with the last
   * piece. Errors: when the node stops reading.
   */
  async sendPaced(change: LoggedChange, pieces: AsyncIterable<SentRecord[]>): Promise<void> {
    const { revision } = change;
    if (revision <= this.sent) return;
    if (isLong(change)) this.#sending = change.account_id;
    let next: SentRecord[] = [];
    let isFirst = true;
    for await (const piece of pieces) {
      if (!isFirst) this.#write(this.sent, next);
      isFirst = false;
      next = piece;
      await this.untilRead();
    }
    this.#write(revision, next);
    this.sent = revision;
    if (this.#sending !== undefined) this.#sending = null;
  }
  /** Notes whether long changes follow; revocations are then sent before them. */
  noteLong(isComing: boolean): void {
    this.#sending = isComing ? null : undefined;
  }
  /**
   * Sends a revocation before long changes, under the revision that was sent last; it is repeated
   * in its order. Not one of the account whose change is being sent: older data of that account
   * would follow.
   */
  sendAhead({ account_id }: LoggedChange, records: SentRecord[]): void {
    if (!this.isOpen || this.#sending === undefined || account_id === this.#sending) return;
    if (this.#response.writableLength < maxUnreadBytes) this.#write(this.sent, records);
  }
  #write(revision: number, records: SentRecord[]): void {
    if (this.isOpen) this.#response.write(this.#eventOf(revision, records));
  }
  async untilRead(): Promise<void> {
    if (this.#response.writableNeedDrain) await untilRead(this.#response, this.#stalledSeconds);
  }
  /** One event for all records of a revision, so that they are applied together. */
  #eventOf(revision: number, records: SentRecord[]): Buffer {
    return Buffer.from(
      `id: ${this.epoch}:${revision}\nevent: change\ndata: ${JSON.stringify(records)}\n\n`,
    );
  }
  /** Sends the newest revision; an idle node acknowledges that too, and so counts as live. */
  sendPosition(revision: number): void {
    if (revision > this.sent) this.sent = revision;
    const event = `id: ${this.epoch}:${this.sent}\nevent: position\ndata: ${this.sent}\n\n`;
    if (!this.isOpen) return;
    if (this.#response.writableLength > maxUnreadBytes) this.cut();
    else this.#response.write(event);
  }
  /** Ends the stream once its node has read what was written. */
  close(): void {
    this.#response.end();
  }
  /** Ends the stream at once, for a node that may not be reading. */
  cut(): void {
    this.#response.destroy();
  }
}
