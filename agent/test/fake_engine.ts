// An engine without a proxy: it follows the policy on disk as real ones do, and decides the
// requests of a test.

import type { EndOrder, Position } from '../../kit/src/node_interface.ts';
import { isWanted } from '../src/connection_groups.ts';
import type {
  Engine,
  EngineCounts,
  Explanation,
  Finished,
  OpenConnection,
  Poll,
  Traffic,
  VpnOffer,
} from '../src/engine.ts';
import type { EndedUse, OpenUse } from '../src/exit_use.ts';
import type { Fault } from '../src/faults.ts';
import { decide, decideWithin, isDrained } from '../src/policy/decide.ts';
import type { Decision, ProxyRequest, Question, Rules } from '../src/policy/decision.ts';
import { DecisionTally } from '../src/policy/decision_tally.ts';
import { type LastUsed, LastUsedTimes } from '../src/policy/last_used.ts';
import type { Listener } from '../src/policy/policy.ts';
import type { NodeRecord } from '../src/policy/records.ts';
import { type Refusal, Refusals } from '../src/policy/refusals.ts';
import { Replica } from '../src/store/replica.ts';
import type { Elsewhere, Holding } from '../src/user_counts.ts';

export const openRules: Rules = {
  connect_ports: [{ first: 443, last: 443 }],
  http_ports: [{ first: 80, last: 80 }],
  allowed: [],
  staleness_seconds: 86_400,
};

export class FakeEngine implements Engine {
  readonly name = 'embedded';
  readonly replica: Replica;
  readonly uses = new LastUsedTimes();
  readonly refusals = new Refusals();
  readonly decisions = new DecisionTally();
  readonly #now: () => number;
  readonly #rules: Rules;
  catchUps = 0;
  /** While set, catching up fails with this error, or waits for this promise. */
  fault: Error | undefined;
  gate: Promise<void> | undefined;
  /** The response of the next poll. */
  finished: Finished[] = [];
  currentFaults: Fault[] = [];
  open: Traffic[] = [];
  connected: OpenConnection[] = [];
  /** For the connection log. */
  underWay: OpenUse[] = [];
  ended: EndedUse[] = [];
  offer: VpnOffer | undefined;
  stopped: { leave_running: boolean } | undefined;

  constructor(dir: string, now: () => number, rules = openRules) {
    this.replica = new Replica(dir);
    this.#now = now;
    this.#rules = rules;
  }

  async catchUp(): Promise<Position | undefined> {
    this.catchUps += 1;
    await this.gate;
    if (this.fault) throw this.fault;
    await this.replica.catchUp();
    return this.replica.position;
  }

  /** The decision about a client's CONNECT. */
  connect(more: Partial<ProxyRequest> = {}): Decision {
    const now = this.#now();
    const verdict = decide(this.replica.policy, this.#rules, { ...connection, ...more }, now);
    this.decisions.note(verdict.verdict === 'allow' ? verdict.authority.by : verdict.reason);
    if (verdict.verdict === 'allow') this.uses.note(verdict.authority, now);
    return verdict;
  }

  async explain(question: Question): Promise<Explanation> {
    const { policy, position } = this.replica;
    if (!position) throw new Error('there is no policy yet');
    const decision = decideWithin(() => undefined, policy, this.#rules, question, this.#now());
    return { decision, position };
  }

  async poll(): Promise<Poll> {
    return { finished: this.finished.splice(0), open: this.open, cursor: null };
  }

  usesUnderWay(): Iterable<OpenUse> {
    return this.underWay;
  }

  takeEndedUses() {
    return { uses: this.ended.splice(0), lost: 0 };
  }

  connections(): Iterable<OpenConnection> {
    return this.connected;
  }

  async end(order: EndOrder): Promise<number> {
    const before = this.connected.length;
    this.connected = this.connected.filter(
      ({ authority, ...of }) => !isWanted(order, { ...of, ...authority }),
    );
    return before - this.connected.length;
  }

  holdings: Holding[] = [];
  elsewhere: readonly Elsewhere[] = [];

  held(): Holding[] {
    return this.holdings;
  }

  share(elsewhere: readonly Elsewhere[]): void {
    this.elsewhere = elsewhere;
  }

  takeRefusals(): Refusal[] {
    return this.refusals.take();
  }

  async takeLastUsed(): Promise<LastUsed[]> {
    return this.uses.take();
  }

  listeners(): ReadonlyMap<number, Listener> {
    return this.replica.policy.listeners;
  }

  vpn(): VpnOffer | undefined {
    return this.offer;
  }

  isDrained(): boolean {
    return isDrained(this.replica.policy, this.#rules);
  }

  counts(): EngineCounts {
    const { decisions, replica } = this;
    return {
      decisions: decisions.counts,
      open_connections: new Map(),
      policy: replica.position && replica.policy.size,
      squids: [],
      deciders: undefined,
    };
  }

  faults(): Fault[] {
    return this.currentFaults;
  }

  async stop(options: { leave_running: boolean }): Promise<void> {
    this.stopped = options;
    this.replica.close();
  }
}

/** A request from the address that `listed` lists, to the server's override port. */
const connection: ProxyRequest = {
  kind: 'request',
  source: '192.0.2.10',
  port: 10_501,
  method: 'CONNECT',
  host: 'www.example.com',
  destination_port: 443,
  credentials: undefined,
};

/** A server, and an account with one user, whose address is listed. */
export function listed(expiry: number): NodeRecord[] {
  return [
    {
      kind: 'server',
      value: {
        name: 'fra1',
        hostname: 'fra1.example.net',
        services: ['proxy'],
        port_schemes: [{ name: 'default', bases: [{ base: 10_000, service: 'proxy' }] }],
        exit_ips: [{ ip: '198.51.100.1', port_base: 1 }],
      },
    },
    { kind: 'keys', value: [] },
    {
      kind: 'contract',
      account: 1,
      value: { name: 'acme', expiry, suspended: false, blocked: false, port_scheme: 'default' },
    },
    {
      kind: 'user',
      account: 1,
      id: 1,
      value: { name: 'alice', active: true, proxy: true, token_version: 1 },
    },
    { kind: 'authlist', account: 1, id: 1, value: { ip: '192.0.2.10', user: 1, expiry } },
  ];
}

/** The record of the user of `listed`, who may connect or not. */
export function alice(active: boolean): NodeRecord {
  const value = { name: 'alice', active, proxy: true, token_version: 1 };
  return { kind: 'user', account: 1, id: 1, value };
}
