// Watches: while somebody looks at the open connections, the control plane asks for them, and the
// node repeats its answer every few seconds. A watch that is not renewed ends by itself.
import type { ConnectionFilter, LargestGroups } from '../../../kit/src/node_interface.ts';
import { groupConnections, largestGroups } from '../connection_groups.ts';
import type { ControlError } from '../control_error.ts';
import type { Engine } from '../engine.ts';
import type { NodeRecord } from '../policy/records.ts';
import type { ReportParts } from '../reporting.ts';

/** The part of the control plane that is needed. Rejects with a ControlError. */
export interface ConnectionReports {
  /** Answers a watch. */
  reportConnections(watch: number, largest: LargestGroups): Promise<void>;
}

interface Parts extends ReportParts<ConnectionReports> {
  engine: Pick<Engine, 'connections'>;
}

interface Watch {
  filter: ConnectionFilter;
  /** When it is answered next, and when it ends, in steady seconds. */
  due: number;
  until: number;
}

const everySeconds = 3;
/**
 * The pause after an answer. All that are due by then are answered together: looking at all
 * connections takes a moment.
 */
const pauseSeconds = 0.25;
const longestLeaseSeconds = 60;
/** More than the control plane asks for at once. */
const maxWatches = 256;

export class Watches {
  readonly #parts: Parts;
  readonly #watches = new Map<number, Watch>();
  #wake = new AbortController();

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  get size(): number {
    return this.#watches.size;
  }

  /** Begins a watch, renews it, or ends it; other records are ignored. */
  note(record: NodeRecord): void {
    if (record.kind !== 'connections') return;
    const { id, value } = record;
    this.#watches.delete(id);
    if (!value) return;
    const { lease_seconds, ...filter } = value;
    const now = this.#parts.clock.steady();
    const until = now + Math.min(lease_seconds, longestLeaseSeconds);
    this.#watches.set(id, { filter, due: now, until });
    const [oldest] = this.#watches.keys();
    if (this.#watches.size > maxWatches && oldest !== undefined) this.#watches.delete(oldest);
    this.#wake.abort();
  }

  /** Answers watches until the signal is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#parts;
    while (!signal.aborted) {
      this.#wake = new AbortController();
      const due = Math.min(...Array.from(this.#watches.values(), (watch) => watch.due));
      const wait = Math.max(0, due - clock.steady());
      await clock.sleep(wait, AbortSignal.any([signal, this.#wake.signal]));
      // A person who has just begun to look waits for this answer.
      if (await this.#answerDue()) await clock.sleep(pauseSeconds, signal);
    }
  }

  /** Returns whether any was due. */
  async #answerDue(): Promise<boolean> {
    const { engine, clock } = this.#parts;
    const now = clock.steady();
    for (const [id, { until }] of this.#watches) if (until <= now) this.#watches.delete(id);
    const due = Array.from(this.#watches).filter(([, watch]) => watch.due <= now + pauseSeconds);
    if (due.length === 0) return false;
    const groups = await groupConnections(engine.connections());
    for (const [id, watch] of due) {
      watch.due = now + everySeconds;
      await this.#answer(id, largestGroups(groups, watch.filter));
    }
    return true;
  }

  async #answer(id: number, largest: LargestGroups): Promise<void> {
    const { control, log } = this.#parts;
    try {
      await control.reportConnections(id, largest);
    } catch (error) {
      // The watch has ended.
      if ((error as Partial<ControlError>).status === 404) this.#watches.delete(id);
      else log.debug({ err: error, watch: id }, 'open connections cannot be reported');
    }
  }
}
