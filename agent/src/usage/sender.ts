// Sends the rows of the journal, one batch at a time, each until the control plane has acknowledged it.
import type { Logger } from 'pino';
import type { Clock } from '../clock.ts';
import type { ControlError } from '../control_error.ts';
import type { Journal } from './journal.ts';
import type { Batch, UsageRow } from './journal_state.ts';
import type { BytesLeft, Limits } from './limits.ts';

/** The part of the control plane that is needed. A rejection is a ControlError. */
export interface UsageReports {
  reportUsage(batch: Batch): Promise<UsageAnswer>;
}

export interface UsageAnswer {
  counted: boolean;
  /** An operator has to judge it first. */
  held: boolean;
  left_out: number[];
  limits: BytesLeft[];
}

const longest_delay_seconds = 60;
/** Older usage is not counted (docs/node.md). */
const oldest_seconds = 40 * 86_400;
/** A clock that is so far behind is wrong, whatever the way here took. */
const wrong_seconds = 3600;

export interface SenderOptions {
  journal: Journal;
  control: UsageReports;
  clock: Clock;
  log: Logger;
  /** From a batch that was taken until the next one: each is a write of the control plane. */
  report_seconds: number;
  /** Hears what is left to the accounts of each batch. */
  limits?: Pick<Limits, 'answered'>;
}

export class Sender {
  readonly #journal: Journal;
  readonly #control: UsageReports;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #report_seconds: number;
  readonly #limits: Pick<Limits, 'answered'> | undefined;
  /** Ends the rest after a batch. */
  #rest = new AbortController();
  /** Those since a batch was taken, or the control plane was heard again; the delay after each ends by the signal. */
  #failures = 0;
  #delay = new AbortController();
  #fault: string | undefined;
  #clockFault: string | undefined;

  constructor({ journal, control, clock, log, report_seconds, limits }: SenderOptions) {
    this.#journal = journal;
    this.#control = control;
    this.#clock = clock;
    this.#log = log;
    this.#report_seconds = report_seconds;
    this.#limits = limits;
  }

  /** The faults now, a sentence each. */
  faults(): string[] {
    return [this.#fault, this.#clockFault].filter((fault) => fault !== undefined);
  }

  /**
   * Sends all batches, with a rest after each, until the signal is aborted. A batch that fails for any
   * reason is kept and sent again after a growing, random delay.
   */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#journal.whenPending(signal);
      if (signal.aborted) return;
      try {
        // One that is asked for while this batch is on its way follows it at once.
        this.#rest = new AbortController();
        await this.send();
        if (this.#fault !== undefined) this.#log.info('usage is reported again');
        this.#failures = 0;
        this.#fault = undefined;
        const either = AbortSignal.any([signal, this.#rest.signal]);
        await this.#clock.sleep(this.#report_seconds, either);
      } catch (error) {
        this.#failures += 1;
        const failures = this.#failures;
        this.#fault = `Usage cannot be reported: ${(error as Error).message}`;
        this.#log.warn({ err: error, failures }, 'usage cannot be reported; it is kept');
        const maxSeconds = Math.min(longest_delay_seconds, 2 ** Math.min(failures, 10));
        this.#delay = new AbortController();
        const either = AbortSignal.any([signal, this.#delay.signal]);
        await this.#clock.sleep(maxSeconds * (0.5 + Math.random() / 2), either);
      }
    }
  }

  /** The next batch is sent without a rest, if the last one was taken. */
  hurry(): void {
    this.#rest.abort();
  }

  /** The control plane is heard again: after a long outage a batch that failed would wait for up to a minute more. */
  retry(): void {
    // One that is on its way since the outage may fail yet.
    this.#failures = 0;
    this.#delay.abort();
  }

  /** Sends all batches, without a rest, until the signal is aborted. Errors: one was not counted; all that is left is kept. */
  async sendAll(signal: AbortSignal): Promise<void> {
    while (!signal.aborted && this.#journal.pending().length > 0) await this.send();
  }

  /** Sends one batch, if there is one. Errors: when it was not counted; it is kept. */
  async send(): Promise<void> {
    const batch = await this.#journal.next();
    if (!batch) return;
    let { rows } = batch;
    let clockFault: string | undefined;
    let limits: BytesLeft[] = [];
    while (rows.length > 0) {
      try {
        const { left_out, ...answer } = await this.#control.reportUsage({ ...batch, rows });
        limits = answer.limits;
        if (answer.held) {
          this.#log.warn(
            summaryOf(rows),
            'usage is more than the control plane takes this machine for; it is billed when an operator accepts it',
          );
        }
        this.#logLeftOut(left_out.flatMap((index) => rows[index] ?? []));
        break;
      } catch (error) {
        // The batch was rejected as a whole, so that others can be sent under the same name.
        const tooOld = tooOldOf(rows, error);
        if (!tooOld) throw error;
        const behind = this.#secondsBehind(tooOld, error);
        if (behind > 0 && clockFault === undefined) {
          const days = Math.round(behind / 8640) / 10;
          clockFault = `The clock of this machine is ${days} days behind the control plane's; set it right (timedatectl).`;
          if (this.#clockFault === undefined) this.#log.error(clockFault);
          this.#clockFault = clockFault;
          rows = rows.map((row) => ({ ...row, at: row.at + behind }));
        } else rows = this.#withoutTooOld(rows, tooOld, error);
      }
    }
    this.#clockFault = clockFault;
    await this.#journal.acknowledged(batch.seq);
    this.#limits?.answered(rows, limits);
  }

  #logLeftOut(rows: UsageRow[]): void {
    if (rows.length === 0) return;
    this.#log.warn(
      summaryOf(rows),
      'usage of accounts or users that this server does not serve (any more) was not billed',
    );
  }

  /**
   * How far our clock is behind, when that is why a row is taken for too old: by the clock that stamped
   * it, it is not. Errors: the rejection when the control plane does not tell its time.
   */
  #secondsBehind(tooOld: UsageRow, rejection: unknown): number {
    const now = this.#clock.now();
    if (tooOld.at < now - oldest_seconds) return 0;
    const { answered_at = now } = rejection as { answered_at?: number };
    if (answered_at - now < wrong_seconds) throw rejection;
    return answered_at - now;
  }

  /** The rows that are younger than the one that was rejected for its age. */
  #withoutTooOld(rows: UsageRow[], tooOld: UsageRow, rejection: unknown): UsageRow[] {
    const dropped = rows.filter(({ at }) => at <= tooOld.at);
    const { message } = rejection as Error;
    this.#log.error(summaryOf(dropped), `usage is lost, never to be billed: ${message}`);
    return rows.filter(({ at }) => at > tooOld.at);
  }
}

/** The row that was rejected for its age; undefined after any other failure. */
function tooOldOf(rows: UsageRow[], failure: unknown): UsageRow | undefined {
  const { status, field = '' } = failure as Partial<ControlError>;
  if (status !== 400) return undefined;
  return rows[Number(/^rows\.(\d+)\.at$/.exec(field)?.[1])];
}

/** For the log: how much it is, and the first of whom. */
function summaryOf(rows: UsageRow[]): object {
  return {
    rows: rows.length,
    bytes: rows.reduce((sum, { up, down }) => sum + up + down, 0),
    first: rows.slice(0, 10),
  };
}
