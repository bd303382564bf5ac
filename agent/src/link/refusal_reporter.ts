// Reports which connections were refused lately, every ten seconds while there are any: for people
// who ask why, from memory alone.
import type { Logger } from 'pino';
import type { Clock } from '../clock.ts';
import { type Refusal, Refusals } from '../policy/refusals.ts';

/** The part of the control plane that is needed. A rejection is a ControlError. */
export interface RefusalReports {
  reportRefusals(refusals: Refusal[]): Promise<void>;
}

export interface RefusalReporterOptions {
  engine: { takeRefusals(): Refusal[] };
  control: RefusalReports;
  clock: Clock;
  log: Logger;
}

const reportSeconds = 10;
/** The control plane accepts no more at once. */
const maxRowsOfReport = 500;

export class RefusalReporter {
  readonly #options: RefusalReporterOptions;
  readonly #waiting = new Refusals();

  constructor(options: RefusalReporterOptions) {
    this.#options = options;
  }

  async run(signal: AbortSignal): Promise<void> {
    for (;;) {
      await this.#options.clock.sleep(reportSeconds, signal);
      if (signal.aborted) return;
      await this.report();
    }
  }

  /** Reports all. A failed report goes with the next, unless it will never be accepted. */
  async report(): Promise<void> {
    const { engine, control, log } = this.#options;
    this.#waiting.add(engine.takeRefusals());
    for (;;) {
      const rows = this.#waiting.take(maxRowsOfReport);
      if (rows.length === 0) return;
      try {
        await control.reportRefusals(rows);
      } catch (error) {
        const isForGood = refusedForGood.includes((error as { status?: number }).status ?? 0);
        if (!isForGood) this.#waiting.add(rows);
        log.debug({ err: error }, 'refused connections cannot be reported');
        return;
      }
    }
  }
}

/** Statuses of a report that will never be accepted; older control planes respond with 404. */
const refusedForGood = [400, 404, 413];
