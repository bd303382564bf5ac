// A simulated node: it speaks the node interface by the agent's own client, decides by its policy,
// and makes up the rest.
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { systemClock } from '../agent/src/clock.ts';
import type { ControlError } from '../agent/src/control_error.ts';
import type { KnownFault } from '../agent/src/faults.ts';
import type { Identity } from '../agent/src/identity.ts';
import { HttpControl, type StreamEvent } from '../agent/src/link/control.ts';
import { EndOrders } from '../agent/src/link/end_orders.ts';
import { answerOf, questionOf } from '../agent/src/link/questions.ts';
import { RefusalReporter } from '../agent/src/link/refusal_reporter.ts';
import { Watches } from '../agent/src/link/watches.ts';
import { decide } from '../agent/src/policy/decide.ts';
import type { Rules } from '../agent/src/policy/decision.ts';
import type { LastUsed } from '../agent/src/policy/last_used.ts';
import { decideLogin } from '../agent/src/policy/logins.ts';
import { Policy } from '../agent/src/policy/policy.ts';
import { isQuestion, type NodeRecord } from '../agent/src/policy/records.ts';
import type {
  ConnectionQuestion,
  EndOrder,
  HealthReport,
  HealthStatus,
  LoginQuestion,
  Position,
  UsageBatch,
} from '../kit/src/node_interface.ts';
import type { Condition } from './life.ts';
import { Traffic } from './traffic.ts';

export interface Simulated {
  identity: Identity;
  /** From 0 to 1. */
  random: () => number;
  /** Asked every few seconds. */
  condition: () => Condition;
  /** Bytes a second of each of its accounts at the moment, on average. */
  rate: () => number;
  /** Hears what is applied: a snapshot's records, in place of all before, or a change's. */
  heard?: (records: readonly NodeRecord[], isSnapshot: boolean) => void;
}

/** As the agent does. */
const reportSeconds = 3;
const healthSeconds = 60;
const acknowledgingPauseSeconds = 0.1;
/** So late a node that is behind applies a change: long enough to be seen. */
const behindSeconds = 4;
const certificateSeconds = 60 * 86_400;
const everyPort = [{ first: 1, last: 65_535 }];

const now = () => Math.floor(Date.now() / 1000);

export class SimulatedNode {
  readonly #options: Simulated;
  readonly #signal: AbortSignal;
  readonly #control: HttpControl;
  readonly #traffic: Traffic;
  readonly #watches: Watches;
  readonly #endOrders: EndOrders;
  readonly #refusals: RefusalReporter;
  readonly #rules: Rules;
  #policy = new Policy();
  #applied: Position | undefined;
  /** Ends the stream that is open. */
  #stream = new AbortController();
  /** Heard, and not applied yet; with the time from which it may be. */
  readonly #waiting: Array<{ due: number; event: StreamEvent }> = [];
  #isAcknowledging = false;
  #condition: Condition = 'well';
  readonly #boot = randomUUID();
  #seq = 0;
  /** Sent until they are taken. */
  #batch: UsageBatch | undefined;
  #uses: LastUsed[] = [];
  #health_due = 0;
  /** As reported last. */
  #faults: KnownFault[] | undefined;
  readonly #revoked = new AbortController();

  /** Follows and reports until the signal is aborted, or the node is revoked. */
  constructor(options: Simulated, signal: AbortSignal) {
    const { url, token, node } = options.identity;
    this.#options = options;
    this.#signal = AbortSignal.any([signal, this.#revoked.signal]);
    this.#traffic = new Traffic(options.random);
    const connections = () => this.#traffic.connections;
    this.#control = new HttpControl({
      url,
      token,
      signal: this.#signal,
      connections,
      connection_log: 'off',
    });
    const parts = { control: this.#control, clock: systemClock, log: pino({ level: 'silent' }) };
    const engine = {
      connections: () => this.#traffic.open(),
      end: async (order: EndOrder) => this.#traffic.end(order),
      takeRefusals: () => this.#traffic.takeRefusals(),
    };
    this.#watches = new Watches({ engine, ...parts });
    this.#endOrders = new EndOrders({ engine, ...parts });
    this.#refusals = new RefusalReporter({ engine, ...parts });
    this.#rules = {
      ...{ node, connect_ports: everyPort, http_ports: everyPort, allowed: [] },
      staleness_seconds: 86_400,
    };
    void this.#keepFollowing();
    void this.#watches.run(this.#signal);
    void this.#keepReporting();
  }

  // ---- Changes ------------------------------------------------------------------------------

  async #keepFollowing(): Promise<void> {
    // Dozens that start together come one after the other.
    await this.#pause(reportSeconds * this.#options.random());
    while (!this.#signal.aborted) {
      try {
        if (this.#condition !== 'down') await this.#follow();
      } catch (error) {
        const { code } = error as ControlError;
        if (code === 'snapshot_needed') this.#applied = undefined;
        if (code === 'node_token_unknown') this.#revoked.abort();
      }
      await this.#pause(1 + 2 * this.#options.random());
    }
  }

  async #follow(): Promise<void> {
    this.#stream = new AbortController();
    const open = AbortSignal.any([this.#signal, this.#stream.signal]);
    this.#waiting.length = 0;
    this.#applied ??= await this.#takeSnapshot(open);
    for await (const event of this.#control.changes(this.#applied, open)) {
      const late = this.#condition === 'behind' ? behindSeconds : 0;
      this.#waiting.push({ due: now() + late, event });
      this.#applyDue();
    }
  }

  async #takeSnapshot(signal: AbortSignal): Promise<Position> {
    const pieces: Uint8Array[] = [];
    for await (const piece of this.#control.snapshot(signal)) pieces.push(piece);
    const lines = Buffer.concat(pieces).toString().trim().split('\n');
    const [first, ...records] = lines.map((line) => JSON.parse(line));
    const last = records.pop();
    if (last?.kind !== 'end' || last.records !== records.length) {
      throw new Error('the snapshot is not whole');
    }
    this.#policy = new Policy();
    for (const record of records as NodeRecord[]) this.#policy.apply(record);
    this.#options.heard?.(records, true);
    return { epoch: first.epoch, revision: first.revision };
  }

  /** In the order of the history: a change that is late holds back those after it. */
  #applyDue(): void {
    const isLate = this.#condition === 'behind';
    const until = this.#waiting.findIndex(({ due }) => isLate && due > now());
    const ready = this.#waiting.splice(0, until < 0 ? this.#waiting.length : until);
    for (const { event } of ready) {
      for (const record of event.records) {
        this.#policy.apply(record);
        this.#watches.note(record);
        if (record.kind === 'end_connections' && record.value) {
          void this.#endOrders.note(record.id, record.value);
        }
        if (record.kind === 'exit_uses' && record.value) {
          void isDone(this.#control.answerExitUses(record.id, { mode: 'off', uses: [], more: 0 }));
        }
        if (isQuestion(record) && record.value) void this.#answer(record.id, record.value);
      }
      this.#options.heard?.(event.records, false);
      this.#applied = event.position;
    }
    if (ready.length > 0 && !this.#isAcknowledging) void this.#acknowledge();
  }

  /** One at a time, of the newest: it stands for all before it. */
  async #acknowledge(): Promise<void> {
    this.#isAcknowledging = true;
    for (let reported: Position | undefined; reported !== this.#applied; ) {
      reported = this.#applied;
      if (reported) await isDone(this.#control.acknowledge(reported));
      await this.#pause(acknowledgingPauseSeconds);
    }
    this.#isAcknowledging = false;
  }

  async #answer(id: number, question: ConnectionQuestion | LoginQuestion): Promise<void> {
    const position = this.#applied;
    if (!position) return;
    this.#policy.heard_at = now();
    const facts = questionOf(question);
    const decision =
      facts.kind === 'login'
        ? decideLogin(this.#policy, this.#rules, facts, now())
        : decide(this.#policy, this.#rules, facts, now());
    await isDone(this.#control.answer(id, answerOf({ decision, position })));
  }

  // ---- Reports ------------------------------------------------------------------------------

  async #keepReporting(): Promise<void> {
    while (!this.#signal.aborted) {
      const condition = this.#options.condition();
      // A change of health is reported at once.
      if (condition !== this.#condition) this.#health_due = 0;
      this.#condition = condition;
      if (condition === 'down') this.#fallSilent();
      else if (this.#applied) await this.#report();
      await this.#pause(reportSeconds);
    }
  }

  #fallSilent(): void {
    this.#stream.abort();
    this.#traffic.end();
  }

  async #report(): Promise<void> {
    this.#applyDue();
    this.#traffic.pass(reportSeconds, this.#options.rate(), this.#policy, this.#rules, now());
    await this.#reportUsage();
    await this.#refusals.report();
    if (now() < this.#health_due) return;
    await this.#reportHealth();
    await isDone(this.#control.reportRejections(this.#boot, this.#traffic.rejected));
    this.#uses.push(...this.#traffic.takeUses());
    if (this.#uses.length > 0 && (await isDone(this.#control.reportLastUsed(this.#uses)))) {
      this.#uses = [];
    }
  }

  async #reportUsage(): Promise<void> {
    if (!this.#batch) {
      const rows = this.#traffic.takeRows();
      if (rows.length === 0) return;
      this.#seq += 1;
      this.#batch = { boot: this.#boot, seq: this.#seq, rows };
    }
    if (await isDone(this.#control.reportUsage(this.#batch))) this.#batch = undefined;
  }

  async #reportHealth(): Promise<void> {
    const report = this.#healthNow();
    if (!report) return;
    const failing = report.exit_ips.filter(({ status }) => status === 'crit');
    const faults = failing.map(({ ip }): KnownFault => {
      const fault = this.#faults?.find(({ subject }) => subject === ip);
      const message = `The exit ${ip} fails: no answer within 10 seconds.`;
      return fault ?? { kind: 'exit', subject: ip, message, since: now() };
    });
    const isNews = faults.length !== this.#faults?.length;
    if (isNews && (await isDone(this.#control.reportFaults(faults)))) this.#faults = faults;
    if (await isDone(this.#control.reportHealth(report))) this.#health_due = now() + healthSeconds;
  }

  #healthNow(): HealthReport | undefined {
    const { server } = this.#policy;
    if (!server) return undefined;
    const checked_at = now();
    const exit_ips = server.exit_ips.map(({ ip }, at) => ({
      ...{ ip, checked_at },
      status: healthOf(this.#condition, at),
    }));
    const services = (['vpn-ikev1', 'vpn-ikev2', 'vpn-l2tp'] as const)
      .filter((service) => server.services.includes(service))
      .flatMap((service) => exit_ips.map((exit) => ({ ...exit, service })));
    if (services.length === 0) return { exit_ips };
    return { exit_ips, vpn: { services, certificate_expiry: checked_at + certificateSeconds } };
  }

  #pause(seconds: number): Promise<void> {
    return sleep(seconds * 1000, undefined, { signal: this.#signal }).catch(() => {});
  }
}

/** Of the exit IPs of a server in trouble some are well. */
function healthOf(condition: Condition, at: number): HealthStatus {
  if (condition === 'slow' && at % 2 === 0) return 'warn';
  return condition === 'failing' && at === 0 ? 'crit' : 'ok';
}

/** Whether a request was taken; one that was not is made again with the next report. */
async function isDone(request: Promise<unknown>): Promise<boolean> {
  return request.then(
    () => true,
    () => false,
  );
}
