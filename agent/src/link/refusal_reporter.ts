// Reports which connections were refused lately, every ten seconds while there are any: for people
// who ask why, from memory alone.
import { randomUUID } from 'node:crypto';
import type { RefusalReport } from '../../../kit/src/node_interface.ts';
import { every } from '../clock.ts';
import { type Refusal, Refusals } from '../policy/refusals.ts';
import { isRefusedForGood, type ReportParts } from '../reporting.ts';

/** The part of the control plane that is needed. A rejection is a ControlError. */
export interface RefusalReports {
  reportRefusals(report: RefusalReport): Promise<void>;
}

type Parts = ReportParts<{ takeRefusals(): Refusal[] }, RefusalReports>;

const reportSeconds = 10;
/** The control plane accepts no more at once. */
const maxRowsOfReport = 500;

export class RefusalReporter {
  readonly #parts: Parts;
  readonly #waiting = new Refusals();
  readonly #boot = randomUUID();
  #seq = 0;
  /** The report that no response came to: it is repeated as it was, so that it counts once. */
  #unanswered: RefusalReport | undefined;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  run(signal: AbortSignal): Promise<void> {
    return every(this.#parts.clock, reportSeconds, signal, () => this.report());
  }

  /** Reports all. A failed report is repeated, unless it will never be accepted. */
  async report(): Promise<void> {
    const { engine, control, log } = this.#parts;
    this.#waiting.add(engine.takeRefusals());
    try {
      for (let report = this.#next(); report; report = this.#next()) {
        await control.reportRefusals(report);
        this.#unanswered = undefined;
      }
    } catch (error) {
      if (isRefusedForGood(error)) this.#unanswered = undefined;
      log.debug({ err: error }, 'refused connections cannot be reported');
    }
  }

  #next(): RefusalReport | undefined {
    if (this.#unanswered) return this.#unanswered;
    const refusals = this.#waiting.take(maxRowsOfReport);
    if (refusals.length === 0) return undefined;
    this.#seq += 1;
    this.#unanswered = { boot: this.#boot, seq: this.#seq, refusals };
    return this.#unanswered;
  }
}
