// Reports which connections were refused lately, every ten seconds while there are any: for people
// who ask why, from memory alone.
import type { Logger } from 'pino';
import type { Clock } from '../clock.ts';
import { type Refusal, Refusals } from '../policy/refusals.ts';
import { sendWaiting } from '../send_waiting.ts';

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
    try {
      await sendWaiting(this.#waiting, maxRowsOfReport, (rows) => control.reportRefusals(rows));
    } catch (error) {
      log.debug({ err: error }, 'refused connections cannot be reported');
    }
  }
}
