// Reports the connections and addresses of users with limits, and passes on what those users hold
// on other nodes, so that a limit holds across the network.
import type { HoldingsReport, UserKey } from '../../../kit/src/node_interface.ts';
import type { ControlError } from '../control_error.ts';
import type { Engine } from '../engine.ts';
import type { ReportParts } from '../reporting.ts';
import { type Elsewhere, type Holding, keyOf, leaseSeconds } from '../user_counts.ts';

/** The part of the control plane that is needed. Rejects with a ControlError. */
export interface HoldingReports {
  /** Returns what the same users hold elsewhere. */
  reportHoldings(report: HoldingsReport): Promise<Elsewhere[]>;
}

interface Parts extends ReportParts<HoldingReports> {
  engine: Pick<Engine, 'held' | 'share'>;
}

const everySeconds = 1;
/** Users who also hold something elsewhere, or have news, are asked about again after this long. */
const sharedSeconds = 2;
/** How long holdings elsewhere count for a user who holds nothing here any more. */
const rememberedSeconds = 5;
/** Everything is reported again after this long: the control plane may have lost some of it. */
const wholeSeconds = 60;
/** The delay after failures; `unknown`: the control plane does not support holdings. */
const retrySeconds = { longest: 8, unknown: 60 };
/** The most that the control plane accepts in one report; the rest goes with the next one. */
const maxOfReport = { users: 2000, networks: 6000 };

export class HoldingsReporter {
  readonly #parts: Parts;
  #reported = new Map<string, Reported>();
  /** A report of everything, while one is due; `after`: it continues after this user. */
  #whole: Pick<HoldingsReport, 'after'> | undefined = {};
  readonly #elsewhere = new Map<string, Heard>();
  /** Steady seconds, like the next two. */
  #lastWholeAt = Number.NEGATIVE_INFINITY;
  #lastAnswerAt = Number.NEGATIVE_INFINITY;
  #retryAt = Number.NEGATIVE_INFINITY;
  #failures = 0;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  async run(signal: AbortSignal): Promise<void> {
    const keep = async (work: () => unknown) => {
      while (!signal.aborted) {
        await work();
        await this.#parts.clock.sleep(everySeconds, signal);
      }
    };
    // Sharing does not wait for reports: leases end, and parts of this node have news meanwhile.
    await Promise.all([keep(() => this.look()), keep(() => this.#share())]);
  }

  /** Reports changes, and passes on what other nodes hold. */
  async look(): Promise<void> {
    const { engine, clock } = this.#parts;
    const held = new Map(engine.held().map((holding) => [keyOf(holding), holding]));
    const now = clock.steady();
    if (now >= this.#retryAt) await this.#report(held, now);
    for (const [key, { heard_at }] of this.#elsewhere) {
      if (!held.has(key) && now - heard_at >= rememberedSeconds) this.#elsewhere.delete(key);
    }
    this.#share();
  }

  /**
   * Reports everything at the next look: the control plane is reachable again, and may have lost
   * the holdings of this node.
   */
  retry(): void {
    this.#beginAgain();
    this.#failures = 0;
    this.#retryAt = Number.NEGATIVE_INFINITY;
  }

  /** The control plane may not know any user of this node, or of other nodes. */
  #beginAgain(): void {
    this.#whole = {};
    this.#reported = new Map();
  }

  #share(): void {
    const { engine, clock } = this.#parts;
    if (clock.steady() - this.#lastAnswerAt > leaseSeconds) this.#elsewhere.clear();
    engine.share(Array.from(this.#elsewhere.values(), ({ heard_at: _, ...entry }) => entry));
  }

  async #report(held: Map<string, Holding>, now: number): Promise<void> {
    const isOld = now - this.#lastWholeAt >= wholeSeconds && this.#reported.size > 0;
    if (isOld) this.#whole ??= {};
    // Everything is reported in parts, and news does not wait for the last part.
    if (!this.#whole || this.#whole.after) await this.#reportNews(held, now);
    if (this.#whole) await this.#reportPart(held, this.#whole, now);
  }

  async #reportNews(held: Map<string, Holding>, now: number): Promise<void> {
    const reported = this.#reported;
    const isShared = (key: string) => {
      const { connections = 0, networks = [] } = this.#elsewhere.get(key) ?? {};
      return connections > 0 || networks.length > (held.get(key)?.networks.length ?? 0);
    };
    const due = Array.from(held).filter(([key, holding]) => {
      const last = reported.get(key);
      if (holding.was_refused || !isSame(holding, last)) return true;
      const isTime = now - last.asked_at >= sharedSeconds;
      return isTime && (last.isChanged || isShared(key));
    });
    const gone = Array.from(reported).flatMap(([key, { account, user }]): Due[] =>
      held.has(key) ? [] : [[key, { account, user, connections: 0, networks: [] }]],
    );
    // Not all may fit, so those that have waited longest come first.
    const askedAt = ([key]: Due) => reported.get(key)?.asked_at ?? 0;
    const all = [...due, ...gone].sort((a, b) => askedAt(a) - askedAt(b));
    if (all.length > 0) await this.#send({ whole: false }, firstOf(all), now);
  }

  /** Reports as many users as fit; the next look continues after them. */
  async #reportPart(
    held: Map<string, Holding>,
    part: Pick<HoldingsReport, 'after'>,
    now: number,
  ): Promise<void> {
    const { after } = part;
    const rest = [...held].filter(([, holding]) => !after || compare(holding, after) > 0);
    const due = firstOf(rest.sort(([, a], [, b]) => compare(a, b)));
    const [, last] = (due.length < rest.length && due.at(-1)) || [];
    const through = last && { account: last.account, user: last.user };
    await this.#send({ whole: true, ...part, ...(through && { through }) }, due, now);
  }

  async #send(range: Omit<HoldingsReport, 'users'>, due: Due[], now: number): Promise<void> {
    const { control, clock, log } = this.#parts;
    const { whole, after, through } = range;
    if (whole) this.#whole = through && { after: through };
    try {
      const users = due.map(([, { was_refused: _, ...holding }]) => holding);
      const answers = await control.reportHoldings({ ...range, users });
      this.#failures = 0;
      this.#lastAnswerAt = clock.steady();
      if (whole && !through) this.#lastWholeAt = now;
      const before = this.#reported;
      this.#reported = new Map(before);
      for (const [key, holding] of whole ? before : []) {
        const isBelow = after && compare(holding, after) <= 0;
        const isAbove = through && compare(holding, through) > 0;
        if (!isBelow && !isAbove) this.#reported.delete(key);
      }
      for (const [key, holding] of due) {
        const isGone = holding.connections === 0 && holding.networks.length === 0;
        const isChanged = !isSame(holding, before.get(key));
        if (isGone) this.#reported.delete(key);
        else this.#reported.set(key, { ...holding, isChanged, asked_at: now });
      }
      for (const entry of answers) {
        this.#elsewhere.set(keyOf(entry), { ...entry, heard_at: clock.steady() });
      }
    } catch (error) {
      // The report may have arrived all the same, and an earlier one may be lost.
      this.#beginAgain();
      this.#failures += 1;
      // An older control plane does not support holdings.
      const isUnknown = (error as Partial<ControlError>).status === 404;
      const { longest, unknown } = retrySeconds;
      const delay = isUnknown ? unknown : Math.min(longest, 2 ** this.#failures);
      this.#retryAt = now + delay * (0.5 + Math.random() / 2);
      log.debug({ err: error }, 'what users with limits hold cannot be reported');
    }
  }
}

type Due = [key: string, Holding];

/** The last report of a user. */
interface Reported extends Holding {
  /** It was news. Another node may have reported at the same moment, so it is asked about again. */
  isChanged: boolean;
  /** Steady seconds. */
  asked_at: number;
}

interface Heard extends Elsewhere {
  /** Steady seconds. */
  heard_at: number;
}

const compare = (a: UserKey, b: UserKey) => a.account - b.account || a.user - b.user;

function firstOf(due: readonly Due[]): Due[] {
  let networks = 0;
  const end = due.findIndex(([, holding]) => {
    networks += holding.networks.length;
    return networks > maxOfReport.networks;
  });
  return due.slice(0, Math.min(maxOfReport.users, end < 0 ? due.length : end));
}

function isSame<T extends Holding>(holding: Holding, reported: T | undefined): reported is T {
  return (
    holding.connections === reported?.connections &&
    holding.networks.length === reported.networks.length &&
    holding.networks.every((network, at) => network === reported.networks[at])
  );
}
