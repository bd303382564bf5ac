// Reports to the control plane: the parts that each needs; and how rows that may be lost wait in
// memory and are sent.
import type { Logger } from 'pino';
import type { Clock } from './clock.ts';

/** The parts that every report needs, next to its source. */
export interface ReportParts<Control> {
  control: Control;
  clock: Clock;
  log: Logger;
}

/** Rows that wait. They are taken for a report, and added again if it fails. */
interface Waiting<Row> {
  take(maxRows: number): Row[];
  add(rows: readonly Row[]): void;
}

/** Whether a report will never be accepted. Older control planes respond with 404. */
export const isRefusedForGood = (error: unknown) =>
  [400, 404, 413].includes((error as { status?: number }).status ?? 0);

/**
 * Sends all that waits, `maxRows` at a time. Errors: that of the first report that failed; its rows
 * wait again, unless they will never be accepted.
 */
export async function sendWaiting<Row>(
  waiting: Waiting<Row>,
  maxRows: number,
  send: (rows: Row[]) => Promise<void>,
): Promise<void> {
  for (let rows = waiting.take(maxRows); rows.length > 0; rows = waiting.take(maxRows)) {
    try {
      await send(rows);
    } catch (error) {
      if (!isRefusedForGood(error)) waiting.add(rows);
      throw error;
    }
  }
}
