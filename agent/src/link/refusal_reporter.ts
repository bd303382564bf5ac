// Reports refused connections every ten seconds, for people who want to know the reason. They are
// held in memory only.
import { randomUUID } from 'node:crypto';
import type { RefusalReport } from '../../../kit/src/node_interface.ts';
import { every } from '../clock.ts';
import type { Engine } from '../engine.ts';
import { Refusals } from '../policy/refusals.ts';
import { isRefusedForGood, type ReportParts } from '../reporting.ts';

/** The part of the control plane that is needed. Rejects with a ControlError. */
export interface RefusalReports {
  reportRefusals(report: RefusalReport): Promise<void>;
}

interface Parts extends ReportParts<RefusalReports> {
  engine: Pick<Engine, 'takeRefusals'>;
}

const reportSeconds = 10;
/** The most that the control plane accepts at once. */
const maxRowsOfReport = 500;

export class RefusalReporter {
  readonly #parts: Parts;
  readonly #waiting = new Refusals();
  readonly #boot = randomUUID();
  #seq = 0;
  /** A report without a response. It is repeated unchanged, so that it counts once. */
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
