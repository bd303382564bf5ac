// Reports each minute which authlist entries let connections in. It is for people, not for bills,
// so it is only held in memory.
import { every } from '../clock.ts';
import type { Engine } from '../engine.ts';
import { type LastUsed, LastUsedTimes } from '../policy/last_used.ts';
import { type ReportParts, sendWaiting } from '../reporting.ts';

/** The part of the control plane that is needed. Rejects with a ControlError. */
export interface LastUsedReports {
  reportLastUsed(list: LastUsed[]): Promise<void>;
}

interface Parts extends ReportParts<LastUsedReports> {
  engine: Pick<Engine, 'takeLastUsed'>;
}

const reportSeconds = 60;
/** The most that the control plane accepts at once. */
const maxOfReport = 5000;

export class LastUsedReporter {
  readonly #parts: Parts;
  readonly #waiting = new LastUsedTimes();

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  run(signal: AbortSignal): Promise<void> {
    return every(this.#parts.clock, reportSeconds, signal, async () => {
      await this.collect();
      await this.send();
    });
  }

  async collect(): Promise<void> {
    this.#waiting.add(await this.#parts.engine.takeLastUsed());
  }

  /**
   * Sends everything collected. A failed report is sent with the next one, if it can be accepted.
   */
  async send(): Promise<void> {
    const { control, log } = this.#parts;
    try {
      await sendWaiting(this.#waiting, maxOfReport, (list) => control.reportLastUsed(list));
    } catch (error) {
      log.warn({ err: error }, 'the last use of authlist entries cannot be reported');
    }
  }
}
