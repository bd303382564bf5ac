// One simulation: a control plane and five machines live through a few minutes that one seed
// decides, and then all is healed.
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Decision, ProxyRequest, Rules } from '../../agent/src/policy/decision.ts';
import type { Reason } from '../../agent/src/policy/denials.ts';
import type { EndOrder } from '../../kit/src/node_interface.ts';
import { requireAccountNamed } from '../../server/src/accounts/accounts.ts';
import { ApiError } from '../../server/src/errors.ts';
import { createProxyToken, requireUserNamed } from '../../server/src/users/users.ts';
import { Random } from '../../server/test/random.ts';
import { accounts, type Beginning, Center, type Joined, users } from './center.ts';
import {
  allowAll,
  type Change,
  drawChange,
  drawLimits,
  hostnames,
  type LimitKind,
  sources,
} from './changes.ts';
import { type Asked, isLogin } from './engine.ts';
import { Limits } from './limits.ts';
import { drawLogin } from './logins.ts';
import { Looks } from './looks.ts';
import { type Ends, Machine } from './machine.ts';
import { Orders } from './orders.ts';
import { Scheduler, settled, Trace } from './scheduler.ts';
import { saidOf, Truth } from './truth.ts';
import type { Conduct } from './vpn.ts';
import { Violation, Watch } from './watch.ts';

const stalenessSeconds = 25;
const rules: Rules = {
  connect_ports: [{ first: 443, last: 443 }],
  http_ports: [{ first: 80, last: 80 }],
  allowed: [],
  staleness_seconds: stalenessSeconds,
};
const destinations = new Map(hostnames.map((hostname) => [hostname, { hostname }]));
/** Normal and override ports of both schemes, and those of an exit that comes and goes. */
const ports = [10_001, 10_501, 10_501, 20_001, 20_501, 10_009, 10_509];

/** Two of them are of one network. */
const crowdedSources = ['192.0.2.1', '192.0.2.2', '192.0.2.3', '2001:db8::1', '2001:db8::2'];

/** More than the longest delay after failures, and a silence before. */
const healingSeconds = 200;

const usageSeconds = 90;

export interface Outcome {
  digest: string;
  counts: Map<string, number>;
}

export class Simulation implements Ends {
  readonly #dir: string;
  readonly #random: Random;
  readonly #scheduler = new Scheduler();
  readonly trace = new Trace(this.#scheduler);
  readonly #center: Center;
  readonly #truth = new Truth(rules, destinations);
  readonly #machines: Machine[];
  readonly #tokens: Array<{ user: string; password: string }> = [];
  readonly #life_seconds: number;
  /**
   * In one life of five, so that the lives that are kept stay as they were; none: no machine has a
   * VPN, and there are no looks at the open connections.
   */
  readonly #conduct: Conduct | undefined;
  readonly #looks: Looks | undefined;
  /** In every second of those lives users have limits, and people order ends of connections. */
  readonly #limits: Limits | undefined;
  readonly #orders: Orders | undefined;
  /** In a fourth of these lives limits are mostly of services: tunnels outlive what judges them. */
  readonly #limitKind: LimitKind;
  /** Until then nothing goes wrong: what is documented for quiet times can be judged. */
  #calm_until = 0;
  #isSiege = false;
  readonly #watch: Watch;
  #isOver = false;
  /** The part of an action that takes longer than its call. */
  #doing: Promise<unknown> = Promise.resolve();

  constructor(seed: number, beginning: Beginning, dir: string, conduct: Conduct) {
    this.#random = new Random(seed);
    this.#conduct = seed % 5 === 0 ? conduct : undefined;
    this.#limitKind = seed % 40 === 35 ? 'of services' : 'all';
    this.#dir = dir;
    rmSync(dir, { recursive: true, force: true });
    mkdirSync(dir, { recursive: true });
    this.#center = new Center(beginning, dir, this.#scheduler, this.trace);
    const hasLimits = this.#conduct !== undefined && seed % 10 === 5;
    this.#life_seconds = hasLimits ? this.#random.between(120, 250) : this.#random.between(8, 45);
    const poll_seconds = this.#random.one([1, 2, 5]);
    this.#machines = beginning.nodes.map((joined) =>
      this.#machine(joined, poll_seconds, hasLimits),
    );
    this.#watch = new Watch({
      center: this.#center,
      truth: this.#truth,
      machines: this.#machines,
      scheduler: this.#scheduler,
      trace: this.trace,
      staleness_seconds: stalenessSeconds,
    });
    if (!this.#conduct) return;
    const shared = { center: this.#center, machines: this.#machines, scheduler: this.#scheduler };
    const { trace } = this;
    this.#looks = new Looks({ ...shared, random: this.#random.fork(), trace });
    if (!hasLimits) return;
    const limits = new Limits({ ...shared, trace });
    this.#limits = limits;
    const isSettled = () => limits.isSettled;
    this.#orders = new Orders({ ...shared, random: this.#random.fork(), trace, isSettled });
  }

  #machine(joined: Joined, poll_seconds: number, hasLimits: boolean): Machine {
    return new Machine({
      joined,
      dir: join(this.#dir, joined.name),
      door: this.#center,
      rules,
      poll_seconds,
      scheduler: this.#scheduler,
      random: this.#random.fork(),
      trace: this.trace,
      conduct: this.#conduct,
      ends: hasLimits ? this : undefined,
      onRevoked: (machine, exchange, reason) =>
        this.#judged(() => this.#watch.checkRevoked(machine, exchange, reason)),
      onClaim: (machine) => this.#watch.noteClaim(machine),
    });
  }

  onExcess(machine: Machine, of: { account: number; user: number }, reason: Reason): void {
    this.#judged(() => this.#limits?.noteRefused(machine, of, reason));
  }
  onAnswer(machine: Machine, isAnswered: boolean): void {
    this.#limits?.noteAnswer(machine, isAnswered);
  }
  onEnd(machine: Machine, order: EndOrder): () => void {
    const done = this.#judged(() => this.#orders?.noteEnd(machine, order));
    return () => this.#judged(() => done?.());
  }

  /** The agent catches what its parts throw. */
  #judged<T>(judge: () => T): T {
    try {
      return judge();
    } catch (error) {
      this.#scheduler.fault ??= error as Error;
      throw error;
    }
  }

  /** Errors: a Violation, or whatever else went wrong. */
  async run(): Promise<Outcome> {
    const random = Math.random;
    const own = this.#random.fork();
    Math.random = () => own.next();
    try {
      await this.#center.open();
      await this.#watch.look();
      for (const machine of this.#machines) {
        await machine.powerOn();
      }
      this.#every(1, () => {
        for (const { engine } of this.#machines) engine.sweep();
      });
      this.#every(7, () => this.#center.runJobs(this.#limits !== undefined));
      this.#every(15, () => this.#center.beat());
      const looks = this.#looks;
      if (looks) this.#every(1.7, () => this.#do(() => looks.look()));
      if (this.#limits) await this.#beginLimits();
      this.#act();
      const end = this.#scheduler.time + this.#life_seconds;
      while (this.#scheduler.time < end) await this.#step();
      await this.#heal();
      return { digest: this.trace.digest(), counts: this.trace.counts };
    } finally {
      await this.#close();
      Math.random = random;
    }
  }

  get #isCalm(): boolean {
    return this.#scheduler.time < this.#calm_until;
  }

  async #close(): Promise<void> {
    for (const machine of this.#machines) {
      await machine.kill();
      machine.engine.die();
    }
    if (this.#center.isUp) await this.#center.close();
    await settled();
  }

  // ---- Time ---------------------------------------------------------------------------------

  /** The next thing, whatever comes of it, and whether all is as it must be. */
  async #step(): Promise<void> {
    const { run, owner, isShared } = this.#scheduler.next();
    const machine = owner as Machine | undefined;
    const mayDie = !this.#isOver && !this.#isCalm;
    if (mayDie && machine?.isRunning && this.#random.between(0, 149) === 0) {
      await machine.dieDuring(run);
      this.#later(1, 20, () => machine.start());
    } else {
      run();
      while (isShared && this.#scheduler.isNextShared && this.#random.between(0, 1) === 0) {
        this.trace.note('together');
        this.#scheduler.next().run();
      }
    }
    await this.#doing;
    await this.#center.working;
    await settled();
    await this.#watch.look();
    if (this.#scheduler.fault) throw this.#scheduler.fault;
  }

  #every(seconds: number, run: () => void): void {
    this.#scheduler.after(seconds, () => {
      run();
      this.#every(seconds, run);
    });
  }

  /** Begins something that takes files or the database; the step ends when it has. */
  #do(work: () => Promise<unknown>): void {
    this.#doing = Promise.all([this.#doing, work()]);
  }

  #later(least: number, max: number, work: () => Promise<unknown>): void {
    this.#scheduler.after(this.#random.between(least, max), () => this.#do(work));
  }

  // ---- What happens -------------------------------------------------------------------------

  #act(): void {
    this.#scheduler.after(0.05 + this.#random.next(), () => {
      if (this.#isOver) return;
      const roll = this.#random.between(0, 99);
      if (roll < 38) this.#changes();
      else if (roll < 72) this.#traffic();
      else if (roll < 75) this.#issue();
      else if (this.#isCalm || (this.#isSiege && this.#random.between(0, 3) > 0)) this.#crowd();
      else if (roll < 91) this.#disturb();
      else this.#crash();
      this.#act();
    });
  }

  /** Some at once, so that a node that is behind meets records that are ahead of each other. */
  #changes(): void {
    if ((this.#isCalm || this.#isSiege) && this.#random.between(0, 4) > 0) return;
    for (let count = this.#random.between(1, 3); count > 0; count -= 1) {
      const seconds = 0.3 * this.#random.next();
      this.#scheduler.after(seconds, () => this.#change(), undefined, true);
    }
  }

  #change(): void {
    if (this.#isOver) return;
    const random = this.#random;
    const isOfLimits = this.#limits && random.between(0, this.#isCalm ? 20 : 5) === 0;
    this.#commit(isOfLimits ? drawLimits(random, this.#limitKind) : drawChange(random));
  }

  #commit({ name, run }: Change): void {
    if (!this.#center.isUp) return;
    this.#do(async () => {
      try {
        await this.#center.write(run);
        this.trace.note(name);
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        this.trace.note('no-change', `${name} ${error.message}`);
      }
    });
  }

  #issue(): void {
    const [account, name] = [this.#random.one(accounts), this.#random.one(users)];
    const lifetime_seconds = this.#random.one([20, 1000]);
    if (!this.#center.isUp) return;
    this.#do(async () => {
      const { secrets } = this.#center.ctx;
      try {
        const { password, issued } = await this.#center.write(async (tx) => {
          const of = await requireAccountNamed(tx, account);
          const user = await requireUserNamed(tx, of.id, name);
          const [key] = secrets.publicKeys();
          if (!key) throw new Error('there is no key');
          const { token } = await createProxyToken(tx, secrets, of, user.id, lifetime_seconds);
          return {
            password: token,
            issued: {
              key,
              account: of.id,
              user: user.id,
              token_version: user.token_version,
              expiry: tx.now + lifetime_seconds,
            },
          };
        });
        this.#truth.issued.set(password, issued);
        this.#tokens.push({ user: name, password });
        this.trace.note('token');
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
      }
    });
  }

  #traffic(): void {
    const random = this.#random;
    for (const machine of this.#machines) {
      this.#watch.checkHeld(machine);
      for (let count = random.between(0, 3); count > 0; count -= 1) {
        if (this.#conduct && random.between(0, 2) === 0) this.#login(machine);
        else this.#request(machine);
      }
      for (const connection of [...machine.engine.exchanges.keys()]) {
        const maxUp = this.#limits ? 500 : 5000;
        machine.engine.transfer(
          connection,
          random.between(0, maxUp),
          random.between(0, 10 * maxUp),
        );
        if (random.between(0, this.#limits ? 40 : 4) === 0) machine.engine.finish(connection);
      }
    }
  }

  #request(machine: Machine): void {
    const random = this.#random;
    const withToken = this.#tokens.length > 0 && random.between(0, 3) === 0;
    const request = requestOf({
      source: random.one(sources),
      port: random.one(ports),
      host: random.one(hostnames),
      credentials: withToken ? random.one(this.#tokens) : undefined,
    });
    const open = [...machine.engine.exchanges]
      .filter(([, { asked: request }]) => !isLogin(request))
      .map(([connection]) => connection);
    const again = open.length > 0 && random.between(0, 3) === 0 ? random.one(open) : undefined;
    this.#open(machine, request, again);
  }

  #open(machine: Machine, request: ProxyRequest, again: string | undefined): void {
    const verdict = this.#ask(machine, request);
    if (!verdict) return;
    const isAdmitted = machine.engine.open(request, verdict, again);
    if (!isAdmitted || verdict.verdict !== 'allow' || verdict.authority.by === 'probe') return;
    this.#limits?.noteAdmitted(machine, verdict.authority);
  }

  /** Users with limits, and tokens by which they use them. */
  async #beginLimits(): Promise<void> {
    const orders = this.#orders;
    this.#every(0.25, () => this.#limits?.look());
    this.#every(3, () => {
      const isRare = (this.#isCalm || this.#isSiege) && this.#random.between(0, 3) > 0;
      if (!this.#isOver && !isRare) this.#do(() => orders?.order() ?? Promise.resolve());
    });
    this.#every(1.3, () => this.#crowd());
    for (let count = 8; count > 0; count -= 1) {
      this.#commit(drawLimits(this.#random, 'at once'));
      this.#issue();
    }
    await this.#doing;
    this.#weather();
  }

  /** Calm and storm take turns, or calm and a siege: some machines are cut off for long. */
  #weather(): void {
    const random = this.#random;
    this.#isSiege = random.between(0, 1) === 0;
    if (this.#isSiege) {
      this.trace.note('siege');
      for (const { line } of this.#machines) line.isCut = random.between(0, 2) === 0;
    }
    const stormSeconds = this.#isSiege ? random.between(70, 110) : random.between(10, 40);
    this.#scheduler.after(stormSeconds, () => {
      if (this.#isOver) return;
      this.trace.note('calm');
      this.#isSiege = false;
      const calmSeconds = random.between(50, 90);
      this.#calm_until = this.#scheduler.time + calmSeconds;
      // Agents that go on may wait for half a minute before they try again.
      const isFresh = random.between(0, 1) === 0;
      this.#do(async () => {
        if (isFresh) for (const machine of this.#machines) await machine.stop();
        await this.#repair();
        await this.#center.write(allowAll);
        for (let count = 8; count > 0; count -= 1) {
          this.#issue();
          await settled();
        }
      });
      // Otherwise agents wait for connections that are dead, until the silence is too long.
      for (const { line } of this.#machines) line.reset();
      this.#scheduler.after(calmSeconds, () => this.#weather());
    });
  }

  /** One user connects from several places, at several servers. */
  #crowd(): void {
    if (this.#isOver || this.#tokens.length === 0) return;
    const random = this.#random;
    const credentials = random.one(this.#tokens);
    const cut = this.#machines.filter(({ line }) => line.isCut);
    const isAtCut = this.#isSiege && cut.length > 0 && random.between(0, 1) === 0;
    for (let count = random.between(1, 4); count > 0; count -= 1) {
      const port = random.one([10_001, 20_001]);
      const request = requestOf({ source: random.one(crowdedSources), port, credentials });
      this.#open(random.one(isAtCut ? cut : this.#machines), request, undefined);
    }
  }

  #login(machine: Machine): void {
    const { secrets } = this.#center.ctx;
    const drawn = drawLogin(this.#random, machine, secrets, this.#scheduler.now());
    const verdict = machine.engine.evaluateLogin(drawn.attempt, drawn.login, drawn.password);
    if (!verdict) return;
    this.trace.note(`login-${verdict.verdict}`);
    this.#check(machine, drawn.attempt, verdict);
    const source = this.#limits ? this.#random.one(crowdedSources) : '192.0.2.1';
    machine.engine.login(drawn.attempt, verdict, source);
  }

  #ask(machine: Machine, partial: Partial<ProxyRequest>): Decision | undefined {
    const request = requestOf(partial);
    const verdict = machine.engine.evaluate(request);
    if (verdict) this.#check(machine, request, verdict);
    return verdict;
  }

  #check(machine: Machine, request: Asked, verdict: Decision): void {
    const said = saidOf(verdict);
    this.trace.note(
      verdict.verdict === 'allow' ? 'allowed' : verdict.reason,
      `${machine.name} ${said}`,
    );
    this.#watch.checkVerdict(machine, request, said);
  }

  #disturb(): void {
    const random = this.#random;
    const machine = random.one(this.#machines);
    const { line, name } = machine;
    const trouble = random.one([
      'cut',
      'cut',
      'heal',
      'lossy',
      'lossy',
      'deaf',
      'slow',
      'break',
      'break',
    ]);
    this.trace.note(trouble, name);
    if (trouble === 'cut') {
      line.isCut = true;
      const seconds = random.one([2, 5, 15, 50, 90]);
      this.#scheduler.after(seconds, () => line.heal());
    } else if (trouble === 'heal') line.heal();
    else if (trouble === 'lossy') line.answersLost = random.one([30, 70]);
    else if (trouble === 'deaf') line.requestsLost = random.one([30, 70]);
    else if (trouble === 'slow') line.slowest_seconds = random.one([0.5, 3]);
    else for (const connection of line.open) connection.break('the connection was reset');
  }

  #crash(): void {
    const random = this.#random;
    const machine = random.one(this.#machines);
    const crash = random.one([
      'agent',
      'agent',
      'engine',
      'power',
      'upgrade',
      'center',
      'center',
      'backup',
      'compaction',
    ]);
    if (crash === 'agent') {
      this.#do(() => machine.kill());
      this.#later(0, 20, () => machine.start());
    } else if (crash === 'upgrade') {
      this.#do(() => machine.stop());
      this.#later(0, 5, () => machine.start());
    } else if (crash === 'engine') {
      this.trace.note('engine-death', machine.name);
      machine.engine.die();
      this.#later(0, 10, () => machine.startEngine());
    } else if (crash === 'power') {
      this.#do(() => machine.losePower());
      // Nothing that it sent is under way any more when it is back.
      this.#later(15, 40, () => machine.powerOn());
    } else if (crash === 'compaction') {
      if (random.between(0, 9) === 0) this.#do(() => machine.compact());
    } else if (crash === 'center') this.#restartCenter();
    else if (this.#center.isUp && !this.#center.hasBackup) {
      this.trace.note('backup');
      this.#do(() => this.#center.backUp(this.#dir));
    }
  }

  #restartCenter(): void {
    if (!this.#center.isUp) return;
    const isRestored = this.#center.hasBackup && this.#random.between(0, 1) === 0;
    this.trace.note('center-death');
    this.#do(async () => {
      await this.#center.close();
      for (const { line } of this.#machines) line.reset();
    });
    this.#later(0, 15, async () => {
      // The healing was faster.
      if (this.#center.isUp) return;
      if (isRestored) {
        this.trace.note('restore');
        await this.#center.restore();
        this.#limits?.noteRestored();
      }
      this.trace.note('center-start');
      await this.#center.open();
    });
  }

  async #repair(): Promise<void> {
    if (!this.#center.isUp) await this.#center.open();
    for (const machine of this.#machines) {
      machine.line.heal();
      await machine.powerOn();
      // One after the other: files and the database take as long as they like.
      await settled();
    }
  }

  // ---- The end ------------------------------------------------------------------------------

  /** Repairs everything, waits, and looks whether all is as if nothing had ever been wrong. */
  async #heal(): Promise<void> {
    this.#isOver = true;
    this.trace.note('healing');
    await this.#repair();
    const until = this.#scheduler.time + healingSeconds;
    let looksAt = this.#scheduler.time + 5;
    for (let fault: string | undefined = 'it did not begin'; fault; ) {
      if (this.#scheduler.time > until) throw new Violation(`after the healing: ${fault}`);
      while (this.#scheduler.time < looksAt) await this.#step();
      // An event that was planned before may have come in between.
      await this.#repair();
      looksAt += 4;
      fault = (await this.#watch.unhealed()) ?? (await this.#looks?.missing());
    }
    this.trace.note('healed', String(Math.round(until - this.#scheduler.time)));
    this.#checkDecisions();
    await this.#waitForUsage();
  }

  /**
   * Nothing is open that may not be; and who would come now is evaluated as the newest records say.
   */
  #checkDecisions(): void {
    for (const machine of this.#machines) {
      machine.engine.sweep();
      this.#watch.checkHeld(machine);
      this.#watch.checkClosed(machine);
      for (const connection of machine.engine.exchanges.keys()) {
        this.trace.note('still-open');
        machine.engine.finish(connection);
      }
      for (const source of sources) {
        for (const port of new Set(ports))
          for (const host of hostnames) this.#ask(machine, { source, port, host });
      }
      for (const credentials of this.#tokens) {
        this.#ask(machine, { port: 10_501, credentials });
        this.#ask(machine, { port: 20_501, credentials });
      }
    }
  }

  /** Once all is over and sent, all is counted. */
  async #waitForUsage(): Promise<void> {
    const until = this.#scheduler.time + usageSeconds;
    for (let fault = this.#watch.uncounted(); fault; fault = this.#watch.uncounted()) {
      if (this.#scheduler.time > until) throw new Violation(fault);
      const next = this.#scheduler.time + 5;
      while (this.#scheduler.time < next) await this.#step();
    }
  }
}

function requestOf(partial: Partial<ProxyRequest>): ProxyRequest {
  const usual = { source: '192.0.2.1', method: 'CONNECT', port: 0, host: hostnames[0] as string };
  return { ...usual, destination_port: 443, credentials: undefined, ...partial, kind: 'request' };
}
