// Reports the node's faults to the control plane: the whole list when it changes, and at regular
// intervals.
import type { Logger } from 'pino';
import type { Clock } from '../clock.ts';
import type { KnownFault } from '../faults.ts';

/** The part of the control plane that is needed. A rejection is a ControlError. */
export interface FaultReports {
  reportFaults(faults: KnownFault[]): Promise<void>;
}

export interface FaultReporterOptions {
  /** The faults now. */
  faults: () => KnownFault[];
  control: FaultReports;
  clock: Clock;
  log: Logger;
}

const lookSeconds = 3;
/** After a backup was restored, a control plane has an older list. */
const repeatSeconds = 300;
/** The control plane accepts no more. */
const maxFaults = 100;
const maxMessageLength = 1000;
const maxSubjectLength = 300;

export class FaultReporter {
  readonly #options: FaultReporterOptions;
  /** As JSON. */
  #reported: string | undefined;
  /** Steady seconds. */
  #lastReportedAt = 0;
  #failures = 0;

  constructor(options: FaultReporterOptions) {
    this.#options = options;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    while (!signal.aborted) {
      await this.report();
      await clock.sleep(Math.min(lookSeconds * 2 ** this.#failures, repeatSeconds), signal);
    }
  }

  /** Reports once if necessary. Never fails: a report that was not accepted is sent again. */
  async report(): Promise<void> {
    const { control, clock, log } = this.#options;
    const faults = this.#options.faults().slice(0, maxFaults).map(bounded);
    const text = JSON.stringify(faults);
    const isDue = clock.steady() - this.#lastReportedAt > repeatSeconds;
    if (text === this.#reported && !isDue) return;
    try {
      await control.reportFaults(faults);
      this.#reported = text;
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
    ...(subject === undefined ? {} : { subject: subject.slice(0, maxSubjectLength) }),
    message: message.slice(0, maxMessageLength),
    since,
  };
}
