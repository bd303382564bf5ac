// How far the clock of this machine is from the control plane's, by the times that its responses carry.
import type { Clock } from '../clock.ts';
import type { Fault } from '../faults.ts';

/** Expiries and the staleness of the policy go by this machine's clock. */
const most_seconds = 30;
/** The header tells whole seconds, and so does the clock. */
const precision_seconds = 1;
/** A slower response says too little to end a fault. */
const quick_seconds = 5;
/** A figure that moves by less stays: it is told, not followed. */
const steady_seconds = 3;

export class ControlTime {
  readonly #clock: Pick<Clock, 'now' | 'steady'>;
  /** Seconds that this clock is ahead. */
  #ahead = 0;

  constructor(clock: Pick<Clock, 'now' | 'steady'>) {
    this.#clock = clock;
  }

  /** Begins a request: its end takes the `Date` of the response. */
  begin(): (date: string | undefined) => void {
    const start = this.#clock.steady();
    return (date) => {
      const date_seconds = Date.parse(date ?? '') / 1000;
      if (!Number.isNaN(date_seconds)) this.#note(date_seconds, this.#clock.steady() - start);
    };
  }

  /** The response was written at `told`, or up to a second later, and some time within this round trip. */
  #note(date_seconds: number, round_trip: number): void {
    const now = this.#clock.now();
    const greatest = now + precision_seconds - date_seconds;
    const least = now - date_seconds - round_trip - precision_seconds;
    const ahead = least > 0 ? least : Math.min(greatest, 0);
    if (Math.abs(ahead) > most_seconds) {
      if (Math.abs(ahead - this.#ahead) >= steady_seconds) this.#ahead = ahead;
    } else if (round_trip < quick_seconds) {
      this.#ahead = 0;
    }
  }

  faults(): Fault[] {
    if (this.#ahead === 0) return [];
    const seconds = Math.round(Math.abs(this.#ahead));
    const where = this.#ahead > 0 ? 'ahead of' : 'behind';
    return [
      {
        kind: 'clock',
        message: `The clock of this machine is ${seconds} seconds ${where} the control plane's: expiries are judged wrongly by as much.`,
      },
    ];
  }
}
