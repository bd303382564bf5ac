// The difference between this machine's clock and the control plane's, by the times in responses.
import type { Clock } from '../clock.ts';
import type { Fault } from '../faults.ts';

/** A larger difference is a fault: expiries and staleness are judged by this machine's clock. */
const maxSeconds = 30;
/** Both the header and the clock have a precision of one second. */
const precisionSeconds = 1;
/** A slower response is too inexact to end a fault. */
const quickSeconds = 5;
/** The reported figure stays until it is off by this much. */
const steadySeconds = 3;

export class ControlTime {
  readonly #clock: Pick<Clock, 'now' | 'steady'>;
  /** Seconds by which this clock is ahead. */
  #ahead = 0;

  constructor(clock: Pick<Clock, 'now' | 'steady'>) {
    this.#clock = clock;
  }

  /** Begins a request; the returned function takes the `Date` of the response. */
  begin(): (date: string | undefined) => void {
    const start = this.#clock.steady();
    return (date) => {
      const dateSeconds = Date.parse(date ?? '') / 1000;
      if (!Number.isNaN(dateSeconds)) this.#note(dateSeconds, this.#clock.steady() - start);
    };
  }

  /** The response was written within this round trip, less than a second after `dateSeconds`. */
  #note(dateSeconds: number, roundTripSeconds: number): void {
    const now = this.#clock.now();
    const greatest = now + precisionSeconds - dateSeconds;
    const least = now - dateSeconds - roundTripSeconds - precisionSeconds;
    const ahead = least > 0 ? least : Math.min(greatest, 0);
    if (Math.abs(ahead) > maxSeconds) {
      if (Math.abs(ahead - this.#ahead) >= steadySeconds) this.#ahead = ahead;
    } else if (roundTripSeconds < quickSeconds) {
      this.#ahead = 0;
    }
  }

  faults(): Fault[] {
    if (this.#ahead === 0) return [];
    const seconds = Math.round(Math.abs(this.#ahead));
    const [where, effect] = this.#ahead > 0 ? ['ahead of', 'early'] : ['behind', 'late'];
    return [
      {
        kind: 'clock',
        message: `The clock of this machine is ${seconds} seconds ${where} the control plane's: rights end that much too ${effect}.`,
      },
    ];
  }
}
