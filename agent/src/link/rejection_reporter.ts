// Reports each minute how many connections were denied since the agent started, by reason. This is
// for charts, not for bills.
import { randomUUID } from 'node:crypto';
import { every } from '../clock.ts';
import type { DecisionCounts } from '../policy/decision_tally.ts';
import { allReasons, type Reason } from '../policy/denials.ts';
import type { ReportParts } from '../reporting.ts';

/** Denied connections by reason; reasons without any are left out. */
export type Rejections = Partial<Record<Reason, number>>;

/** The part of the control plane that is needed. Rejects with a ControlError. */
export interface RejectionReports {
  /** `boot` identifies the run of the agent that the counts belong to. */
  reportRejections(boot: string, reasons: Rejections): Promise<void>;
}

interface Parts extends ReportParts<RejectionReports> {
  /** Counts decisions since the agent started. */
  engine: { counts(): { decisions: DecisionCounts } };
}

const reportSeconds = 60;

export class RejectionReporter {
  readonly #parts: Parts;
  readonly #boot = randomUUID();
  /** As JSON. */
  #reported = JSON.stringify({});

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  run(signal: AbortSignal): Promise<void> {
    return every(this.#parts.clock, reportSeconds, signal, () => this.report());
  }

  /** Reports the counts if they have changed. Never fails: the next report contains them too. */
  async report(): Promise<void> {
    const { engine, control, log } = this.#parts;
    const { outcomes } = engine.counts().decisions;
    const reasons: Rejections = {};
    for (const reason of allReasons) if (outcomes[reason]) reasons[reason] = outcomes[reason];
    const text = JSON.stringify(reasons);
    if (text === this.#reported) return;
    try {
      await control.reportRejections(this.#boot, reasons);
      this.#reported = text;
    } catch (error) {
      // Older control planes respond with 404.
      log.debug(
        { err: error },
        'rejected connections cannot be reported now; they will be reported again',
      );
    }
  }
}
