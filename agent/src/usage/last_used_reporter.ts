// Reports each minute which authlist entries let connections in. A hint for people, no bill: it is only in memory.
import type { Logger } from 'pino';
import type { Clock } from '../clock.ts';
import { type LastUsed, LastUsedTimes } from '../policy/last_used.ts';

/** What is needed of the control plane. A refusal is an error with the status of its answer. */
export interface LastUsedReports {
  reportLastUsed(uses: LastUsed[]): Promise<void>;
}

export interface LastUsedReporterOptions {
  engine: { takeLastUsed(): Promise<LastUsed[]> };
  control: LastUsedReports;
  clock: Clock;
  log: Logger;
}

const report_seconds = 60;
/** What the control plane takes at once. */
const mostUsesOfReport = 5000;

export class LastUsedReporter {
  readonly #options: LastUsedReporterOptions;
  readonly #waiting = new LastUsedTimes();

  constructor(options: LastUsedReporterOptions) {
    this.#options = options;
  }

  async run(signal: AbortSignal): Promise<void> {
    for (;;) {
      await this.#options.clock.sleep(report_seconds, signal);
      if (signal.aborted) return;
      await this.collect();
      await this.send();
    }
  }

  async collect(): Promise<void> {
    this.#waiting.add(await this.#options.engine.takeLastUsed());
  }

  /** Sends what was collected. What cannot be sent now goes with the next; what is refused never would. */
  async send(): Promise<void> {
    const { control, log } = this.#options;
    for (;;) {
      const uses = this.#waiting.take(mostUsesOfReport);
      if (uses.length === 0) return;
      try {
        await control.reportLastUsed(uses);
      } catch (error) {
        const isRefused = refusals.includes((error as { status?: number }).status ?? 0);
        if (!isRefused) this.#waiting.add(uses);
        log.warn({ err: error }, 'last uses of authlist entries cannot be reported');
        return;
      }
    }
  }
}

/** A control plane that does not take this report: an older one, say. */
const refusals = [400, 404, 413];
