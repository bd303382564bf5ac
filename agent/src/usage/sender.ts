// Sends the rows of the journal in batches, and repeats each until the control plane acknowledges
// it.
import type { Logger } from 'pino';
import type { UsageBatch, UsageRow } from '../../../kit/src/node_interface.ts';
import type { Clock } from '../clock.ts';
import type { ControlError } from '../control_error.ts';
import type { Journal } from './journal.ts';
import type { BytesLeft, Limits, UserBytesLeft } from './limits.ts';

/** The part of the control plane that is needed. Rejects with a ControlError. */
export interface UsageReports {
  reportUsage(batch: UsageBatch): Promise<UsageAnswer>;
}

export interface UsageAnswer {
  counted: boolean;
  /** An operator has to review it first. */
  held: boolean;
  left_out: number[];
  limits: BytesLeft[];
  /** The same of users; older control planes send none. */
  user_limits?: UserBytesLeft[];
}

const longestDelaySeconds = 60;
/** Older usage is not counted (docs/node.md). */
const oldestSeconds = 40 * 86_400;
/** A clock that is this slow is wrong, however long the transfer took. */
const wrongSeconds = 3600;

export interface SenderOptions {
  journal: Journal;
  control: UsageReports;
  clock: Clock;
  log: Logger;
  /** The pause after an accepted batch, since each one is a write for the control plane. */
  report_seconds: number;
  /** They receive the bytes left for the accounts, and for the users, of each batch. */
  limits?: Pick<Limits, 'answered'>;
  user_limits?: Pick<Limits, 'answered'>;
}

export class Sender {
  readonly #journal: Journal;
  readonly #control: UsageReports;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #reportSeconds: number;
  readonly #limits: Pick<Limits, 'answered'> | undefined;
  readonly #userLimits: Pick<Limits, 'answered'> | undefined;
  /** Ends the pause after a batch. */
  #pause = new AbortController();
  /**
   * Failures since a batch was accepted, or the control plane became reachable. `#delay` ends the
   * delay after a failure.
   */
  #failures = 0;
  #delay = new AbortController();
  #fault: string | undefined;
  #clockFault: string | undefined;

  constructor(options: SenderOptions) {
    const { journal, control, clock, log, report_seconds, limits, user_limits } = options;
    this.#journal = journal;
    this.#control = control;
    this.#clock = clock;
    this.#log = log;
    this.#reportSeconds = report_seconds;
    this.#limits = limits;
    this.#userLimits = user_limits;
  }

  /** The faults now, a sentence each. */
  faults(): string[] {
    return [this.#fault, this.#clockFault].filter((fault) => fault !== undefined);
  }

  /**
   * Sends all batches, with a pause after each, until the signal is aborted. A batch that fails for
   * any reason stays, and is sent again after a growing, random delay.
   */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#journal.whenPending(signal);
      if (signal.aborted) return;
      try {
        // If another batch is requested while this one is on its way, it follows at once.
        this.#pause = new AbortController();
        await this.send();
        if (this.#fault !== undefined) this.#log.info('usage is reported again');
        this.#failures = 0;
        this.#fault = undefined;
        const either = AbortSignal.any([signal, this.#pause.signal]);
        await this.#clock.sleep(this.#reportSeconds, either);
      } catch (error) {
        this.#failures += 1;
        const failures = this.#failures;
        this.#fault = `Usage cannot be reported: ${(error as Error).message}`;
        this.#log.warn({ err: error, failures }, 'usage cannot be reported; it will be sent again');
        const maxSeconds = Math.min(longestDelaySeconds, 2 ** Math.min(failures, 10));
        this.#delay = new AbortController();
        const either = AbortSignal.any([signal, this.#delay.signal]);
        await this.#clock.sleep(maxSeconds * (0.5 + Math.random() / 2), either);
      }
    }
  }

  /** Sends the next batch without a pause, if the last one was accepted. */
  hurry(): void {
    this.#pause.abort();
  }

  /**
   * Ends the delay after a failure, since the control plane is reachable again. A batch that failed
   * in a long outage would wait for up to another minute.
   */
  retry(): void {
    // A batch that was sent during the outage may still fail.
    this.#failures = 0;
    this.#delay.abort();
  }

  /**
   * Sends all batches without a pause, until the signal is aborted. Errors: one was not counted;
   * everything not sent stays.
   */
  async sendAll(signal: AbortSignal): Promise<void> {
    while (!signal.aborted && this.#journal.pending().length > 0) await this.send();
  }

  /** Sends one batch, if there is one. Errors: it was not counted; it stays. */
  async send(): Promise<void> {
    const batch = await this.#journal.next();
    if (!batch) return;
    let { rows } = batch;
    let clockFault: string | undefined;
    let limits: BytesLeft[] = [];
    let user_limits: UserBytesLeft[] = [];
    while (rows.length > 0) {
      try {
        const { left_out, ...answer } = await this.#control.reportUsage({ ...batch, rows });
        ({ limits, user_limits = [] } = answer);
        if (answer.held) {
          this.#log.warn(
            summaryOf(rows),
            'usage is more than the control plane expects of this machine; it is billed when an operator accepts it',
          );
        }
        this.#logLeftOut(left_out.flatMap((index) => rows[index] ?? []));
        break;
      } catch (error) {
        // The whole batch was rejected, so the other rows can be sent under the same number.
        const tooOld = tooOldOf(rows, error);
        if (!tooOld) throw error;
        const behind = this.#secondsBehind(tooOld, error);
        if (behind > 0 && clockFault === undefined) {
          const days = Math.round(behind / 8640) / 10;
          clockFault = `The clock of this machine is ${days} days behind the control plane's; correct it (timedatectl).`;
          if (this.#clockFault === undefined) this.#log.error(clockFault);
          this.#clockFault = clockFault;
          rows = rows.map((row) => ({ ...row, at: row.at + behind }));
        } else rows = this.#withoutTooOld(rows, tooOld, error);
      }
    }
    this.#clockFault = clockFault;
    await this.#journal.acknowledged(batch.seq);
    this.#limits?.answered(rows, limits);
    this.#userLimits?.answered(rows, user_limits);
  }

  #logLeftOut(rows: UsageRow[]): void {
    if (rows.length === 0) return;
    this.#log.warn(
      summaryOf(rows),
      'usage of accounts or users that this server does not serve (any more) was not billed',
    );
  }

  /**
   * How far our clock is behind, if that is why a row is rejected: by our clock it is not too old.
   * Errors: the rejection, if the control plane did not send its time.
   */
  #secondsBehind(tooOld: UsageRow, rejection: unknown): number {
    const now = this.#clock.now();
    if (tooOld.at < now - oldestSeconds) return 0;
    const { answered_at = now } = rejection as { answered_at?: number };
    if (answered_at - now < wrongSeconds) throw rejection;
    return answered_at - now;
  }

  /** The rows that are newer than the one rejected for its age. */
  #withoutTooOld(rows: UsageRow[], tooOld: UsageRow, rejection: unknown): UsageRow[] {
    const dropped = rows.filter(({ at }) => at <= tooOld.at);
    const { message } = rejection as Error;
    this.#log.error(summaryOf(dropped), `usage is lost and will not be billed: ${message}`);
    return rows.filter(({ at }) => at > tooOld.at);
  }
}

/** The row that was rejected for its age; undefined after any other failure. */
function tooOldOf(rows: UsageRow[], failure: unknown): UsageRow | undefined {
  const { status, field = '' } = failure as Partial<ControlError>;
  if (status !== 400) return undefined;
  return rows[Number(/^rows\.(\d+)\.at$/.exec(field)?.[1])];
}

/** For the log: the amount of traffic, and the first users. */
function summaryOf(rows: UsageRow[]): object {
  return {
    rows: rows.length,
    bytes: rows.reduce((sum, { up, down }) => sum + up + down, 0),
    first: rows.slice(0, 10),
  };
}
