// Reports the node's faults to the control plane: the whole list when it changes, and at regular
// intervals.
import type { KnownFault } from '../faults.ts';
import type { ReportParts } from '../reporting.ts';

/** The part of the control plane that is needed. Rejects with a ControlError. */
export interface FaultReports {
  reportFaults(faults: KnownFault[]): Promise<void>;
}

interface Parts extends ReportParts<FaultReports> {
  /** Returns the current faults. */
  faults: () => KnownFault[];
}

const lookSeconds = 3;
/** The list is repeated: a control plane that was restored from a backup has an older one. */
const repeatSeconds = 300;
/** The most that the control plane accepts. */
const maxOfReport = { faults: 100, subjectLength: 300, messageLength: 1000 };

export class FaultReporter {
  readonly #parts: Parts;
  /** The last list that was accepted, as JSON. */
  #lastReported: string | undefined;
  /** Steady seconds. */
  #lastReportedAt = 0;
  #failures = 0;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#parts;
    while (!signal.aborted) {
      await this.report();
      await clock.sleep(Math.min(lookSeconds * 2 ** this.#failures, repeatSeconds), signal);
    }
  }

  /** Reports once if necessary. Never fails: a report that was not accepted is sent again. */
  async report(): Promise<void> {
    const { control, clock, log } = this.#parts;
    const faults = this.#parts.faults().slice(0, maxOfReport.faults).map(bounded);
    const text = JSON.stringify(faults);
    const isDue = clock.steady() - this.#lastReportedAt > repeatSeconds;
    if (text === this.#lastReported && !isDue) return;
    try {
      await control.reportFaults(faults);
      this.#lastReported = text;
      this.#lastReportedAt = clock.steady();
      this.#failures = 0;
    } catch (error) {
      this.#failures += 1;
      log.debug({ err: error }, 'faults cannot be reported now; they will be reported again');
    }
  }
}

function bounded({ kind, subject, message, since }: KnownFault): KnownFault {
  return {
    kind,
    ...(subject === undefined ? {} : { subject: subject.slice(0, maxOfReport.subjectLength) }),
    message: message.slice(0, maxOfReport.messageLength),
    since,
  };
}
