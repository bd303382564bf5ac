// Operators' questions about uses of exits, and erasures. The connection log answers the questions
// and carries out the erasures.
import type { UseQuestion } from '../../../kit/src/node_interface.ts';
import type { ConnectionLog } from '../connection_log/connection_log.ts';
import type { FoundUses } from '../connection_log/find_uses.ts';
import type { ControlError } from '../control_error.ts';
import { personOf } from '../exit_use.ts';
import { type Fault, faultsOf } from '../faults.ts';
import type { NodeRecord } from '../policy/records.ts';
import type { ReportParts } from '../reporting.ts';

/** The answer to a question: what the log has, and which log it is. */
export type ExitUseAnswer = ConnectionLog['state'] & FoundUses;

/** The part of the control plane that is needed. Rejects with a ControlError. */
export interface ExitUseReports {
  answerExitUses(question: number, answer: ExitUseAnswer): Promise<void>;
  /** All users who were erased. */
  erasedUsers(): Promise<Array<{ account: number; user: number }>>;
}

interface Parts extends ReportParts<ExitUseReports> {
  connectionLog: Pick<ConnectionLog, 'state' | 'find' | 'erase' | 'hasFiles'>;
}

/** More than the control plane asks at once. */
const maxWaiting = 16;
const retrySeconds = 30;
const everySeconds = 3600;

export class ExitUseQuestions {
  readonly #parts: Parts;
  #waiting = 0;
  #wake = new AbortController();
  #fault: string | undefined;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** Answers a question, or has erasures carried out; other records are ignored. */
  note(record: NodeRecord): void {
    if (record.kind === 'erased_users') this.#wake.abort();
    if (record.kind !== 'exit_uses' || !record.value || this.#waiting >= maxWaiting) return;
    this.#waiting += 1;
    void this.#answer(record.id, record.value).finally(() => {
      this.#waiting -= 1;
    });
  }

  /** Carries out erasures until the signal is aborted: at the start, on a record, every hour. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#parts;
    while (!signal.aborted) {
      this.#wake = new AbortController();
      let pauseSeconds = everySeconds;
      try {
        await this.#erase();
        this.#fault = undefined;
      } catch (error) {
        pauseSeconds = retrySeconds;
        const sentence = `Users who were erased are not yet removed from the connection log: ${(error as Error).message}.`;
        if (!signal.aborted) this.#fault = sentence;
        log.warn({ err: error }, 'erased users are not yet removed from the connection log');
      }
      await clock.sleep(pauseSeconds, AbortSignal.any([signal, this.#wake.signal]));
    }
  }

  faults(): Fault[] {
    return faultsOf('connection_log', this.#fault === undefined ? [] : [this.#fault]);
  }

  async #erase(): Promise<void> {
    const { connectionLog, control } = this.#parts;
    if (!connectionLog.hasFiles) return;
    await connectionLog.erase((await control.erasedUsers()).map(personOf));
  }

  async #answer(id: number, question: UseQuestion): Promise<void> {
    const { connectionLog, control, log } = this.#parts;
    try {
      const uses = await connectionLog.find(question);
      await control.answerExitUses(id, { ...connectionLog.state, ...uses });
    } catch (error) {
      // The question has ended.
      if ((error as Partial<ControlError>).status === 404) return;
      log.warn({ err: error, question: id }, 'a question about an exit cannot be answered');
    }
  }
}
