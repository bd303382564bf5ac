// Reports the connections and addresses of users with limits, and passes on what those users hold
// on other nodes, so that a limit holds across the network.
import type { Logger } from 'pino';
import type { Clock } from '../clock.ts';
import type { ControlError } from '../control_error.ts';
import type { Engine } from '../engine.ts';
import { type Elsewhere, type Holding, keyOf } from '../user_counts.ts';

/** The part of the control plane that is needed. A rejection is a ControlError. */
export interface HoldingReports {
  /**
   * Reports what users hold here; with `whole`, others hold nothing. Returns what the same users
   * hold elsewhere.
   */
  reportHoldings(whole: boolean, holdings: Holding[]): Promise<Elsewhere[]>;
}

export interface HoldingsReporterOptions {
  engine: Pick<Engine, 'held' | 'share'>;
  control: HoldingReports;
  clock: Clock;
  log: Logger;
}

const everySeconds = 1;
/** Users who also hold something elsewhere are asked about again after this long. */
const sharedSeconds = 3;
/** Everything is reported again after this long, whatever the control plane may have lost. */
const wholeSeconds = 60;
/** An answer about other nodes is used for this long; the control plane drops lost nodes, too. */
const leaseSeconds = 45;
const longestDelaySeconds = 60;
/** The control plane accepts no more in one report; the rest goes with the next one. */
const maxOfReport = { users: 2000, networks: 6000 };

export class HoldingsReporter {
  readonly #options: HoldingsReporterOptions;
  /** By user: what was reported last. Undefined: everything has to be reported. */
  #reported: Map<string, Holding> | undefined;
  readonly #elsewhere = new Map<string, Elsewhere>();
  /** In steady seconds. */
  #whole_at = Number.NEGATIVE_INFINITY;
  #asked_at = Number.NEGATIVE_INFINITY;
  #answered_at = Number.NEGATIVE_INFINITY;
  #retry_at = Number.NEGATIVE_INFINITY;
  #failures = 0;

  constructor(options: HoldingsReporterOptions) {
    this.#options = options;
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.look();
      await this.#options.clock.sleep(everySeconds, signal);
    }
  }

  /** Reports what has changed, if anything, and passes on what is known of other nodes. */
  async look(): Promise<void> {
    const { engine, clock } = this.#options;
    const held = new Map(engine.held().map((holding) => [keyOf(holding), holding]));
    const now = clock.steady();
    if (now >= this.#retry_at) await this.#report(held, now);
    for (const key of this.#elsewhere.keys()) {
      const isOver = clock.steady() - this.#answered_at > leaseSeconds;
      if (isOver || !held.has(key)) this.#elsewhere.delete(key);
    }
    engine.share([...this.#elsewhere.values()]);
  }

  async #report(held: Map<string, Holding>, now: number): Promise<void> {
    const reported = this.#reported;
    const whole = !reported || (now - this.#whole_at >= wholeSeconds && reported.size > 0);
    const isShared = (key: string) => {
      const { connections = 0, networks = [] } = this.#elsewhere.get(key) ?? {};
      return connections > 0 || networks.length > (held.get(key)?.networks.length ?? 0);
    };
    const asksAgain = now - this.#asked_at >= sharedSeconds;
    const due = Array.from(held).filter(
      ([key, holding]) =>
        whole ||
        holding.was_refused ||
        !isSame(holding, reported.get(key)) ||
        (asksAgain && isShared(key)),
    );
    const gone = Array.from(reported ?? []).flatMap(([key, { account, user }]): Due[] =>
      whole || held.has(key) ? [] : [[key, { account, user, connections: 0, networks: [] }]],
    );
    const all = [...due, ...gone];
    if (!whole && all.length === 0) return;
    await this.#send(whole, firstOf(all), now);
  }

  async #send(whole: boolean, due: Due[], now: number): Promise<void> {
    const { control, clock, log } = this.#options;
    try {
      const holdings = due.map(([, { was_refused: _, ...holding }]) => holding);
      const answers = await control.reportHoldings(whole, holdings);
      this.#failures = 0;
      this.#answered_at = clock.steady();
      this.#asked_at = now;
      if (whole) this.#whole_at = now;
      this.#reported = new Map(whole ? [] : this.#reported);
      for (const [key, holding] of due) {
        const isGone = holding.connections === 0 && holding.networks.length === 0;
        if (isGone) this.#reported.delete(key);
        else this.#reported.set(key, holding);
      }
      for (const elsewhere of answers) this.#elsewhere.set(keyOf(elsewhere), elsewhere);
    } catch (error) {
      // It may have arrived, and another one may not.
      this.#reported = undefined;
      this.#failures += 1;
      // An older control plane does not know of it.
      const isUnknown = (error as Partial<ControlError>).status === 404;
      const delay = isUnknown ? longestDelaySeconds : 2 ** Math.min(this.#failures, 6);
      this.#retry_at = now + Math.min(delay, longestDelaySeconds) * (0.5 + Math.random() / 2);
      log.debug({ err: error }, 'what users with limits hold cannot be reported');
    }
  }
}

type Due = [key: string, Holding];

function firstOf(due: readonly Due[]): Due[] {
  let networks = 0;
  const end = due.findIndex(([, holding]) => {
    networks += holding.networks.length;
    return networks > maxOfReport.networks;
  });
  return due.slice(0, Math.min(maxOfReport.users, end < 0 ? due.length : end));
}

function isSame(holding: Holding, reported: Holding | undefined): boolean {
  return (
    holding.connections === reported?.connections &&
    holding.networks.length === reported.networks.length &&
    holding.networks.every((network, at) => network === reported.networks[at])
  );
}
