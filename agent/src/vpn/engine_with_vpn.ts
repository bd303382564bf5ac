// A proxy engine and the VPN as one engine, with one decision, one journal and one list of faults.

import type { EndOrder, Position } from '../../../kit/src/node_interface.ts';
import type {
  Engine,
  EngineCounts,
  Explanation,
  OpenConnection,
  Poll,
  Stored,
  VpnOffer,
} from '../engine.ts';
import type { OpenUse } from '../exit_use.ts';
import type { Fault } from '../faults.ts';
import type { Question } from '../policy/decision.ts';
import { DecisionTally } from '../policy/decision_tally.ts';
import { type Elsewhere, type Holding, sumOfHoldings, withOthers } from '../user_counts.ts';
import type { Vpn } from './vpn.ts';

/** The cursors of both. A journal from a time without VPN has only the proxy's cursor. */
interface Cursors {
  proxy: unknown;
  vpn: unknown;
}

export class EngineWithVpn implements Engine {
  readonly name: Engine['name'];
  readonly #proxy: Engine;
  readonly #vpn: Vpn;

  constructor(proxy: Engine, vpn: Vpn) {
    this.name = proxy.name;
    this.#proxy = proxy;
    this.#vpn = vpn;
  }

  async catchUp(): Promise<Position | undefined> {
    // In parallel: the VPN does not wait for the proxy's workers.
    const [applied] = await Promise.all([this.#proxy.catchUp(), this.#vpn.catchUp()]);
    return applied;
  }

  async poll(cursor: unknown, stored?: Stored, isExtra?: boolean): Promise<Poll> {
    const cursors = cursorsOf(cursor);
    const storedOf = (name: keyof Cursors): Stored | undefined =>
      stored && { cursor: cursorsOf(stored.cursor)[name], counted: stored.counted };
    const proxy = await this.#proxy.poll(cursors.proxy, storedOf('proxy'), isExtra);
    const vpn = await this.#vpn.poll(cursors.vpn, storedOf('vpn'));
    return {
      finished: [...proxy.finished, ...vpn.finished],
      open: [...proxy.open, ...vpn.open],
      cursor: { proxy: proxy.cursor, vpn: vpn.cursor } satisfies Cursors,
    };
  }

  *connections(): Generator<OpenConnection> {
    yield* this.#proxy.connections();
    yield* this.#vpn.connections();
  }

  *usesUnderWay(): Generator<OpenUse> {
    yield* this.#proxy.usesUnderWay();
    yield* this.#vpn.uses();
  }

  /** Only the proxy's: the end of a tunnel shows in the uses under way. */
  takeEndedUses(): ReturnType<Engine['takeEndedUses']> {
    return this.#proxy.takeEndedUses();
  }

  async end(order: EndOrder): Promise<number> {
    const [proxy, vpn] = await Promise.all([this.#proxy.end(order), this.#vpn.end(order)]);
    return proxy + vpn;
  }

  takeLastUsed(): ReturnType<Engine['takeLastUsed']> {
    return this.#proxy.takeLastUsed();
  }

  held(): Holding[] {
    return sumOfHoldings([...this.#proxy.held(), ...this.#vpn.held()]);
  }

  share(elsewhere: readonly Elsewhere[]): void {
    const [ofProxy, ofVpn] = [this.#proxy.held(), this.#vpn.held()];
    this.#proxy.share(withOthers(elsewhere, [], ofVpn));
    this.#vpn.share(withOthers(elsewhere, ofProxy, []));
  }

  takeRefusals(): ReturnType<Engine['takeRefusals']> {
    return [...this.#proxy.takeRefusals(), ...this.#vpn.takeRefusals()];
  }

  explain(question: Question): Promise<Explanation> {
    return question.kind === 'login' ? this.#vpn.explain(question) : this.#proxy.explain(question);
  }

  listeners(): ReturnType<Engine['listeners']> {
    return this.#proxy.listeners();
  }

  vpn(): VpnOffer | undefined {
    return this.#vpn.offer;
  }

  isDrained(): boolean {
    return this.#proxy.isDrained();
  }

  counts(): EngineCounts {
    const counts = this.#proxy.counts();
    const decisions = new DecisionTally();
    for (const counted of [counts.decisions, this.#vpn.decisions]) decisions.add(counted);
    return { ...counts, decisions: decisions.counts, tunnels: this.#vpn.tunnels };
  }

  faults(): Fault[] {
    return [...this.#proxy.faults(), ...this.#vpn.faults()];
  }

  async stop(options: { leave_running: boolean }): Promise<void> {
    await Promise.all([this.#proxy.stop(options), this.#vpn.stop(options)]);
  }
}

function cursorsOf(cursor: unknown): Cursors {
  const isBoth =
    typeof cursor === 'object' && cursor !== null && 'proxy' in cursor && 'vpn' in cursor;
  return isBoth ? (cursor as Cursors) : { proxy: cursor, vpn: undefined };
}
