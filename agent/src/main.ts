// Assembles the agent: disk, engine, link, usage, health, and the control socket; and takes it
// apart again.
import { randomBytes } from 'node:crypto';
import type { Logger } from 'pino';
import { openLog } from '../../kit/src/log.ts';
import type { Answer, LoginQuestion, UsageRow } from '../../kit/src/node_interface.ts';
import type { ListenAddress } from '../../kit/src/settings.ts';
import { CertificateTrust } from './certificate_trust.ts';
import { type Clock, systemClock } from './clock.ts';
import type { Config } from './config.ts';
import { ConnectionLog, connectionLogFolder } from './connection_log/connection_log.ts';
import type { Engine, EngineOptions } from './engine.ts';
import { type Fault, FaultList, faultsOf, type KnownFault } from './faults.ts';
import { Firewall, firewallOptions } from './firewall.ts';
import { ControlTime } from './health/control_time.ts';
import { destinationOf } from './health/echo.ts';
import { ExitAddresses } from './health/exit_addresses.ts';
import { HealthChecks } from './health/health.ts';
import { Programs } from './health/programs.ts';
import { type Identity, journalPath, policyFolder, readIdentity } from './identity.ts';
import { type Control, HttpControl } from './link/control.ts';
import { EndOrders } from './link/end_orders.ts';
import { ExitUseQuestions } from './link/exit_use_questions.ts';
import { FaultReporter } from './link/fault_reporter.ts';
import { HoldingsReporter } from './link/holdings_reporter.ts';
import { Link } from './link/link.ts';
import { answerTo } from './link/questions.ts';
import { RefusalReporter } from './link/refusal_reporter.ts';
import { RejectionReporter } from './link/rejection_reporter.ts';
import { Watches } from './link/watches.ts';
import { type Local, type Status, serveLocal } from './local.ts';
import { type Facts, Metrics, serveMetrics } from './metrics.ts';
import type { OwnQuestion } from './policy/records.ts';
import { RenewedCertificate } from './renewed_certificate.ts';
import { findSquidUser } from './squid/agent/unix_user.ts';
import { rulesOf, startEngine } from './start_engine.ts';
import { newestGeneration } from './store/generations.ts';
import { Store } from './store/store.ts';
import { Journal } from './usage/journal.ts';
import { LastUsedReporter } from './usage/last_used_reporter.ts';
import { Limits } from './usage/limits.ts';
import { Meter } from './usage/meter.ts';
import { Sender } from './usage/sender.ts';
import { version } from './version.ts';

export type { EngineOptions };

/** Replacements for the real parts, in tests and simulations. */
export interface TestDoubles {
  clock?: Clock;
  log?: Logger;
  control?: Control;
  startEngine?: (options: EngineOptions) => Promise<Engine>;
}

export interface Running extends Local {
  /** Resolves when the control plane is first heard from. */
  readonly following: Promise<void>;
  /** Undefined until it listens. */
  readonly metrics_url: string | undefined;
  /** Counts and sends the last traffic. */
  stop(options?: { leave_running: boolean }): Promise<void>;
}

/** How long a failed part waits before it starts again. */
const pauseSeconds = 30;
/**
 * The first poll reports what ended while no agent ran, and the next ones what is still open. Both
 * go into one report, which covers a longer time: separately, each would look like too much.
 */
const firstReportSeconds = 3;
/** How long a stopping agent waits for its usage to be accepted. */
const longestFarewellSeconds = 10;

/**
 * Runs the node that this machine has joined as, with the policy on disk, whether or not the
 * control plane is there. Errors: one sentence if it cannot start.
 */
export async function runAgent(config: Config, doubles: TestDoubles = {}): Promise<Running> {
  const agent = new Agent(config, doubles);
  try {
    await agent.start();
  } catch (error) {
    await agent.stop();
    throw error;
  }
  return agent;
}

class Agent implements Running {
  readonly #config: Config;
  readonly #identity: Identity;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #control: Control;
  readonly #startEngine: (options: EngineOptions) => Promise<Engine>;
  readonly #probePassword = randomBytes(24).toString('base64url');
  readonly #echoUrl: string;
  readonly #time: ControlTime;
  /** Stops the parts. */
  readonly #stopping = new AbortController();
  /** Aborts the requests that are under way at the end. */
  readonly #over = new AbortController();
  readonly #parts: Promise<void>[] = [];
  /** By part. */
  readonly #failed = new Map<string, string>();
  readonly #faults = new FaultList();
  /** Stays until there is a newer snapshot, which replaces everything older. */
  #storeFault: { sentence: string; generation: number | undefined } | undefined;
  #local: { close(): void } | undefined;
  #store: Store | undefined;
  #engine: Engine | undefined;
  #link: Link | undefined;
  #health: HealthChecks | undefined;
  #exitAddresses: ExitAddresses | undefined;
  #firewall: Firewall | undefined;
  #programs: Programs | undefined;
  #certificate: RenewedCertificate | undefined;
  #trust: CertificateTrust | undefined;
  #lastUsed: LastUsedReporter | undefined;
  /** Of accounts, and of users. */
  #limits: { accounts: Limits; users: Limits } | undefined;
  #connectionLog: ConnectionLog | undefined;
  #useQuestions: ExitUseQuestions | undefined;
  #usage: { journal: Journal; meter: Meter; sender: Sender } | undefined;
  readonly #following = Promise.withResolvers<void>();
  readonly following = this.#following.promise;
  /** Requests and tunnels under way, by the last count. */
  #connections: number | undefined;
  metrics_url: string | undefined;
  #stopped: Promise<void> | undefined;

  constructor(config: Config, doubles: TestDoubles) {
    this.#config = config;
    this.#identity = readIdentity(config.state_dir);
    this.#clock = doubles.clock ?? systemClock;
    this.#log = doubles.log ?? openLog(config);
    const { url, token } = this.#identity;
    this.#time = new ControlTime(this.#clock);
    const { signal } = this.#over;
    const [time, connections] = [this.#time, () => this.#connections];
    const connection_log = config.connection_log.mode;
    this.#control =
      doubles.control ?? new HttpControl({ url, token, signal, time, connections, connection_log });
    this.#startEngine = doubles.startEngine ?? startEngine;
    this.#echoUrl = config.echo_url ?? `${url}/node/echo`;
  }

  async start(): Promise<void> {
    const { state_dir, engine, unknown_settings } = this.#config;
    for (const sentence of unknown_settings) this.#log.warn(sentence);
    // The first step, since it keeps a second agent out.
    this.#local = await serveLocal(state_dir, this);
    const dir = policyFolder(state_dir);
    this.#store = await Store.open(dir, {
      group: engine === 'squid' ? findSquidUser()?.gid : undefined,
      onFault: (error) => {
        this.#log.error({ err: error }, 'the policy on disk needs attention');
        const sentence = `The policy on disk: ${error.message}.`;
        this.#storeFault = { sentence, generation: newestGeneration(dir) };
      },
    });
    const [clock, log, config] = [this.#clock, this.#log, this.#config];
    const destination = destinationOf(new URL(this.#echoUrl));
    const { server, node, url } = this.#identity;
    const rules = rulesOf(config, { password: this.#probePassword, ...destination }, node);
    const { unstored } = this.#store;
    this.#engine = await this.#startEngine({ config, rules, dir, unstored, clock, log });
    log.info({ version, url, server, node, engine: this.#engine.name }, 'the agent has started');
    this.#startParts(this.#store, this.#engine);
    if (this.#config.metrics_listen) this.#serveMetrics(this.#config.metrics_listen);
  }

  #startParts(store: Store, engine: Engine): void {
    const [clock, log, control] = [this.#clock, this.#log, this.#control];
    const { listen_host, port_shift, health_seconds } = this.#config;
    const watches = new Watches({ engine, control, clock, log });
    const connectionLog = new ConnectionLog({
      dir: connectionLogFolder(this.#config.state_dir),
      ...{ settings: this.#config.connection_log, engine, clock, log },
    });
    this.#connectionLog = connectionLog;
    this.#keep('connection log', (signal) => connectionLog.run(signal));
    const endOrders = new EndOrders({ engine, control, clock, log });
    const holdings = new HoldingsReporter({ engine, control, clock, log });
    const useQuestions = new ExitUseQuestions({ connectionLog, control, clock, log });
    this.#useQuestions = useQuestions;
    this.#keep('erasures', (signal) => useQuestions.run(signal));
    const link = new Link({
      store,
      control,
      clock,
      log,
      engine: {
        catchUp: () => this.#catchUp(engine),
        explain: (request) => engine.explain(request),
        checkExit: (ip) => health.checkNow(ip),
      },
      onPayer: (payer) => {
        if (payer?.user === undefined) this.#limits?.accounts.forget(payer);
        if (payer?.user !== undefined || !payer) this.#limits?.users.forget(payer);
      },
      onRecord: (record) => {
        watches.note(record);
        useQuestions.note(record);
      },
      onOrder: (id, order) => endOrders.note(id, order),
      onFollowing: () => {
        this.#following.resolve();
        this.#usage?.sender.retry();
        holdings.retry();
      },
    });
    const health = new HealthChecks({
      listeners: () => engine.listeners(),
      vpn: () => engine.vpn?.(),
      control,
      clock,
      log,
      echo_url: this.#echoUrl,
      probe_password: this.#probePassword,
      listen_host,
      port_shift,
      health_seconds,
    });
    const lastUsed = new LastUsedReporter({ engine, control, clock, log });
    this.#lastUsed = lastUsed;
    this.#link = link;
    this.#health = health;
    const exitAddresses = new ExitAddresses({ listeners: () => engine.listeners(), clock });
    this.#exitAddresses = exitAddresses;
    const reporter = new FaultReporter({ faults: () => this.#faultsNow(), control, clock, log });
    this.#keep('link', (signal) => link.run(signal));
    this.#keep('health', async (signal) => {
      // Until then there is no port to check.
      while (!link.status().applied && !signal.aborted) await clock.sleep(1, signal);
      await health.run(signal);
    });
    const rejections = new RejectionReporter({ engine, control, clock, log });
    this.#keep('rejections', (signal) => rejections.run(signal));
    const refusals = new RefusalReporter({ engine, control, clock, log });
    this.#keep('refusals', (signal) => refusals.run(signal));
    this.#keep('holdings', (signal) => holdings.run(signal));
    this.#keep('watches', (signal) => watches.run(signal));
    this.#keep('usage', (signal) => this.#count(engine, signal));
    this.#keep('exit addresses', (signal) => exitAddresses.run(signal));
    this.#keep('faults', (signal) => reporter.run(signal));
    this.#keep('last used', (signal) => lastUsed.run(signal));
    if (this.#config.guard === 'nftables') {
      const firewall = new Firewall({ clock, log });
      this.#firewall = firewall;
      this.#keep('firewall', (signal) => firewall.run(signal));
    }
    const programs = new Programs({ state_dir: this.#config.state_dir, clock });
    this.#programs = programs;
    this.#keep('programs', (signal) => programs.run(signal));
    const dir = policyFolder(this.#config.state_dir);
    const trust = new CertificateTrust({
      ...{ config: this.#config, dir, clock },
      isShown: () =>
        engine.vpn?.() !== undefined || [...engine.listeners().values()].some(({ tls }) => tls),
    });
    this.#trust = trust;
    this.#keep('trust', (signal) => trust.run(signal));
    if (!this.#config.acme) return;
    const certificate = new RenewedCertificate({ config: this.#config, dir, clock, log });
    this.#certificate = certificate;
    this.#keep('certificate', (signal) => certificate.run(signal));
  }

  #serveMetrics(at: ListenAddress): void {
    const { state_dir } = this.#config;
    const metrics = new Metrics(
      () => this.#facts(),
      () => this.#clock.now(),
      state_dir,
    );
    const onListening = (url: string) => {
      this.metrics_url = url;
    };
    this.#keep('metrics', (signal) => serveMetrics(metrics, at, signal, onListening));
  }

  /**
   * Runs a part until the agent stops. A part that fails is started again, and the others continue.
   */
  #keep(name: string, run: (signal: AbortSignal) => Promise<void>): void {
    const { signal } = this.#stopping;
    const keep = async () => {
      while (!signal.aborted) {
        try {
          await run(signal);
          if (!signal.aborted) throw new Error('it ended');
        } catch (error) {
          this.#log.error({ err: error, part: name }, 'a part of the agent failed');
          this.#failed.set(name, `The part ${name} failed: ${(error as Error).message}`);
          await this.#clock.sleep(pauseSeconds, signal);
        }
        this.#failed.delete(name);
      }
    };
    this.#parts.push(keep());
  }

  async #catchUp(engine: Engine) {
    const applied = await engine.catchUp();
    // The engine also denies what these rules reject.
    await this.#firewall?.apply(firewallOptions(this.#config, engine.listeners()));
    return applied;
  }

  async #count(engine: Engine, signal: AbortSignal): Promise<void> {
    const [clock, log, control] = [this.#clock, this.#log, this.#control];
    const journal = await Journal.open(journalPath(this.#config.state_dir), { log });
    const poll: Engine['poll'] = async (...options) => {
      const answer = await engine.poll(...options);
      this.#connections = answer.open.length;
      return answer;
    };
    const { poll_seconds, report_seconds } = this.#config;
    const limitsOf = (of: 'accounts' | 'users') =>
      new Limits({
        ...{ of, journal, clock, log, poll_seconds, report_seconds },
        end: (payer, until) => this.#link?.limit(payer, until),
        report: () => sender.hurry(),
      });
    const [accounts, users] = [limitsOf('accounts'), limitsOf('users')];
    const limits = {
      counted: (rows: UsageRow[]) => Math.min(accounts.counted(rows), users.counted(rows)),
    };
    const meter = new Meter({ engine: { poll }, journal, clock, log, poll_seconds, limits });
    const ofSender = { limits: accounts, user_limits: users };
    const sender = new Sender({ journal, control, clock, log, report_seconds, ...ofSender });
    this.#limits = { accounts, users };
    this.#usage = { journal, meter, sender };
    const failing = new AbortController();
    const either = AbortSignal.any([signal, failing.signal]);
    const sending = clock.sleep(firstReportSeconds, either).then(() => sender.run(either));
    const runs = [meter.run(either), sending].map((run) => run.finally(() => failing.abort()));
    const outcomes = await Promise.allSettled(runs);
    // The last tick, at the stop, is still to come.
    if (signal.aborted) return;
    // Two journals on one file would destroy each other's entries.
    this.#usage = undefined;
    await journal.close();
    for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
  }

  status(): Status {
    const { url, server, node } = this.#identity;
    const { state, applied, heard_at } = this.#link?.status() ?? { state: 'connecting' };
    return {
      version,
      url,
      server,
      node,
      engine: this.#engine?.name ?? this.#config.engine,
      state,
      stored: this.#store?.position ?? null,
      applied: applied ?? null,
      heard_at: heard_at ?? null,
      heard_seconds_ago: heard_at === undefined ? null : this.#clock.now() - heard_at,
      ports: [...(this.#engine?.listeners().keys() ?? [])].map((port) => this.#shifted(port)),
      connections: this.#connections ?? 0,
      drained: this.#engine?.isDrained() ?? false,
      connection_log: this.#connectionLog?.state ?? null,
      usage_waiting: this.#usage?.journal.pending().length ?? 0,
      exits: this.#health?.exits() ?? [],
      vpn: this.#health?.vpn() ?? null,
      faults: this.#faultsNow(),
    };
  }

  #facts(): Facts {
    return {
      status: this.status(),
      held: this.#store?.held,
      behind_seconds: this.#link?.status().behind_seconds,
      oldest_usage_at: this.#usage?.journal.pending()[0]?.at,
      transferred: this.#usage?.meter.transferred,
      counts: this.#engine?.counts(),
      listeners: this.#engine?.listeners(),
    };
  }

  #faultsNow(): KnownFault[] {
    const { journal, meter, sender } = this.#usage ?? {};
    const failed = Array.from(this.#failed, ([subject, message]): Fault => {
      return { kind: subject === 'usage' ? 'journal' : 'agent', subject, message };
    });
    const parts = [
      ...[this.#time, this.#link, this.#engine],
      ...[
        this.#certificate,
        this.#trust,
        this.#exitAddresses,
        this.#firewall,
        this.#programs,
        this.#health,
        this.#store?.unreadable,
        this.#connectionLog,
        this.#useQuestions,
      ],
    ];
    const faults = [
      ...failed,
      ...faultsOf('disk', [...this.#storeFaults(), ...(this.#store?.faults() ?? [])]),
      ...parts.flatMap((part) => part?.faults() ?? []),
      ...faultsOf('journal', journal?.faults()),
      ...faultsOf('usage', [...(meter?.faults() ?? []), ...(sender?.faults() ?? [])]),
    ];
    return this.#faults.update(faults, this.#clock.now());
  }

  async explain(question: OwnQuestion | LoginQuestion): Promise<Answer> {
    if (!this.#engine) throw new Error('The agent is starting.');
    return answerTo(question, this.#engine);
  }

  stop({ leave_running } = { leave_running: false }): Promise<void> {
    this.#stopped ??= this.#stop(leave_running);
    return this.#stopped;
  }

  async #stop(leave_running: boolean): Promise<void> {
    this.#stopping.abort();
    await Promise.all(this.#parts);
    // Each step runs even if others failed, above all so that the counts are stored.
    const steps = [
      async () => this.#lastUsed?.collect(),
      // One tick while deciders and kernel report what is open, and one for the final counts.
      async () => this.#usage?.meter.tick(),
      async () => this.#engine?.stop({ leave_running }),
      async () => this.#usage?.meter.tick(),
      async () => this.#connectionLog?.close(),
      async () => this.#sendLast(),
      async () => this.#lastUsed?.send(),
      async () => this.#usage?.journal.close(),
      async () => this.#store?.close(),
    ];
    for (const step of steps) {
      await step().catch((error) => this.#log.warn({ err: error }, 'a step of stopping failed'));
    }
    this.#over.abort();
    this.#local?.close();
    if (this.#engine) this.#log.info('the agent has stopped');
  }

  /** Sends the rest, within a time limit. Errors: the control plane is not reachable. */
  async #sendLast(): Promise<void> {
    const waiting = new AbortController();
    const sent = (this.#usage?.sender.sendAll(waiting.signal) ?? Promise.resolve()).finally(() =>
      waiting.abort(),
    );
    await Promise.race([sent, this.#clock.sleep(longestFarewellSeconds, waiting.signal)]);
    if (waiting.signal.aborted) return sent;
    waiting.abort();
    // A request under way ends with the agent.
    sent.catch(() => {});
    throw new Error('the control plane does not answer');
  }

  #storeFaults(): string[] {
    const { sentence, generation } = this.#storeFault ?? {};
    if (sentence === undefined) return [];
    if (newestGeneration(policyFolder(this.#config.state_dir)) === generation) return [sentence];
    this.#storeFault = undefined;
    return [];
  }

  #shifted(port: number): number {
    return port + this.#config.port_shift;
  }
}
