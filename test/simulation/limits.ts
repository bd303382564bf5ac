// An oracle of the limits of users on connections and addresses at once, with one global count: it
// judges for how long one is passed, and whether a node may refuse by it.
import type { Reason } from '../../agent/src/policy/denials.ts';
import { clientNetworks } from '../../kit/src/client_networks.ts';
import { accounts, type Center, users } from './center.ts';
import { isLogin } from './engine.ts';
import type { Machine } from './machine.ts';
import type { Scheduler, Trace } from './scheduler.ts';
import { Violation } from './watch.ts';

/** As the limits are documented: an excess lasts no longer while the control plane answers. */
const longestSeconds = 5;
/** So long after a trouble, or a change of the limit, all nodes know of each other again. */
const settledSeconds = 15;
/** For so long a node goes on with what it last heard. */
const leaseSeconds = 45;
/** For so long a node may refuse for what is over elsewhere, while the control plane answers. */
const refusedSeconds = 8;
/** The same in times of trouble: its own lease, and the time until a node counts as lost. */
const memorySeconds = 120;
const addressSeconds = 60;

export interface LimitsOptions {
  center: Center;
  machines: readonly Machine[];
  scheduler: Scheduler;
  trace: Trace;
}

interface Owner {
  account: number;
  user: number;
}

interface Held {
  isProxy: boolean;
  network: string;
  /** Seconds since it began, and since it carried a byte. */
  age: number;
  idle: number;
}

/** The connections and networks of a user, by machine. */
interface Sample {
  at: number;
  /** Of its parts: proxies and VPN, which hear of each other only while their agent is there. */
  connections: Array<[proxies: number, vpn: number]>;
  networks: string[][];
}

interface OfUser extends Owner {
  /** By JSON, each once: the limits that machines have; and when those were last changed. */
  limits: string[];
  changed_at: number;
  samples: Sample[];
  over_since: number | undefined;
}

export class Limits {
  readonly #options: LimitsOptions;
  readonly #users: OfUser[];
  /** When something did not work last. */
  #troubled_at: number;
  #restored_at = Number.NEGATIVE_INFINITY;
  /** When the control plane last answered each machine. */
  readonly #answered_at = new Map<Machine, number>();

  constructor(options: LimitsOptions) {
    this.#options = options;
    this.#troubled_at = options.scheduler.time;
    const none = { limits: [], changed_at: 0, samples: [], over_since: undefined };
    this.#users = accounts.flatMap((_, account) =>
      users.map((_, user) => ({ account: account + 1, user: user + 1, ...none, samples: [] })),
    );
  }

  /** Whether everything has worked for so long that all nodes know of each other. */
  get isSettled(): boolean {
    return this.#options.scheduler.time - this.#troubled_at > settledSeconds;
  }

  noteRestored(): void {
    this.#restored_at = this.#options.scheduler.time;
  }

  noteAnswer(machine: Machine, isAnswered: boolean): void {
    const { time } = this.#options.scheduler;
    if (isAnswered) this.#answered_at.set(machine, time);
    else this.#troubled_at = time;
  }

  /** Several times a second. */
  look(): void {
    const { center, machines, scheduler, trace } = this.#options;
    if (!center.isUp || machines.some(({ isWell }) => !isWell)) this.#troubled_at = scheduler.time;
    if (this.isSettled) trace.count('limit-quiet');
    for (const user of this.#users) this.#judge(user, this.#sample(user));
  }

  /** A machine let a connection to a proxy in: by its own count it passes no limit. */
  noteAdmitted(machine: Machine, owner: Owner): void {
    const { connections = Number.POSITIVE_INFINITY } = limitsAt(machine, owner) ?? {};
    const own = this.#heldAt(machine, owner, 'proxy').length;
    if (own > connections) {
      throw new Violation(`${machine.name} let ${own} in at once, and the limit is ${connections}`);
    }
    this.#sample(this.#userOf(owner));
  }

  /** A machine refused a connection: its user holds as much as the limit, or did lately. */
  noteRefused(machine: Machine, owner: Owner, reason: Reason): void {
    if (reason !== 'too_many_connections' && reason !== 'too_many_addresses') return;
    const { machines, scheduler, trace } = this.#options;
    const name = `user ${owner.account}/${owner.user}`;
    trace.note('limit-refused', `${machine.name} ${name} ${reason}`);
    const user = this.#userOf(owner);
    this.#sample(user);
    const answered_at = this.#answered_at.get(machine) ?? Number.NEGATIVE_INFINITY;
    const isAlone = machine.isRunning && scheduler.time - answered_at > leaseSeconds + 2;
    if (isAlone) trace.count('limit-refused-alone');
    const isCertain = isAlone || this.isSettled;
    if (!isCertain && scheduler.time - this.#restored_at < memorySeconds) return;
    const seconds = isCertain ? refusedSeconds : memorySeconds;
    const at = (isAlone ? [machine] : machines).map((other) => machines.indexOf(other));
    const limits = limitsAt(machine, owner);
    const lately = (within: number) => user.samples.filter((s) => s.at >= scheduler.time - within);
    const [held, limit = 0] =
      reason === 'too_many_connections'
        ? [sumOfHighest(lately(seconds), at), limits?.connections]
        : [networksOf(lately(seconds + addressSeconds), at).size, limits?.addresses];
    if (held >= limit) return;
    const since = `${held} of ${limit} within ${seconds} s`;
    throw new Violation(`${machine.name} refuses ${name}: ${reason}, and it held ${since}`);
  }

  #userOf(owner: Owner): OfUser {
    const user = this.#users.find((other) => isSame(other, owner));
    if (!user) throw new Error(`there is no user ${owner.account}/${owner.user}`);
    return user;
  }

  /** The connections of the user now, by machine. */
  #sample(user: OfUser): Held[][] {
    const { machines, scheduler } = this.#options;
    const { time: at } = scheduler;
    const serving = machines.filter((machine) => limitsAt(machine, user));
    const limits = [...new Set(serving.map((machine) => JSON.stringify(limitsAt(machine, user))))];
    if (limits.join() !== user.limits.join()) user.changed_at = at;
    user.limits = limits;
    const held = machines.map((machine) => this.#heldAt(machine, user));
    user.samples.push({
      at,
      connections: held.map((of) => {
        const { length } = of.filter(({ isProxy }) => isProxy);
        return [length, of.length - length];
      }),
      networks: held.map((of) => of.map(({ network }) => network)),
    });
    const first = at - memorySeconds - addressSeconds;
    if ((user.samples[0]?.at ?? at) < first) user.samples.shift();
    return held;
  }

  #heldAt({ engine }: Machine, owner: Owner, service?: string): Held[] {
    const { time } = this.#options.scheduler;
    return [...engine.exchanges.values()]
      .filter(
        (exchange) => isSame(exchange, owner) && exchange.service === (service ?? exchange.service),
      )
      .map(({ service, asked, address, since, moved_at }) => ({
        isProxy: service === 'proxy',
        network: clientNetworks(address)[0]?.name ?? address,
        age: time - since,
        // The address of a tunnel is in use as long as that is there.
        idle: isLogin(asked) ? 0 : time - moved_at,
      }));
  }

  /** In quiet times no excess is older than it may be. */
  #judge(user: OfUser, byMachine: Held[][]): void {
    const { trace, scheduler } = this.#options;
    const [first, other] = user.limits;
    if (first === undefined || other !== undefined) return;
    const { connections = Number.POSITIVE_INFINITY, addresses = Number.POSITIVE_INFINITY } =
      JSON.parse(first) as Counted;
    const held = byMachine.flat();
    const excessOf = (of: readonly Held[]) =>
      Math.max(of.length - connections, placesOf(of).size - addresses);
    const { time } = scheduler;
    const quietSeconds = Math.min(time - user.changed_at, time - this.#troubled_at);
    const isQuiet = quietSeconds > settledSeconds;
    if (excessOf(held) <= 0) {
      if (user.over_since !== undefined && isQuiet) {
        trace.count(`limit-passed-for-${Math.ceil(time - user.over_since)}`);
      }
      user.over_since = undefined;
      return;
    }
    if (user.over_since === undefined)
      trace.note(isQuiet ? 'limit-passed' : 'limit-passed-in-trouble');
    user.over_since ??= time;
    const excess = excessOf(held.filter(({ age }) => age > longestSeconds));
    if (!isQuiet || excess <= 0) return;
    throw new Violation(
      `user ${user.account}/${user.user} passes ${first} by ${excess} for ${longestSeconds} s: ${JSON.stringify(byMachine)}`,
    );
  }
}

interface Counted {
  connections?: number;
  addresses?: number;
}

const isSame = (a: Owner, b: Owner) => a.account === b.account && a.user === b.user;

/** The limits at once that a machine has of a user; undefined: it does not serve the user. */
function limitsAt({ engine }: Machine, { account, user }: Owner): Counted | undefined {
  const record = engine.policy?.accounts.get(account)?.users.get(user);
  if (!record) return undefined;
  const { connections, addresses } = record.limits ?? {};
  return { ...(connections && { connections }), ...(addresses && { addresses }) };
}

/** The networks that count: those that were used within the window, and not at its edge. */
function placesOf(held: readonly Held[]): Set<string> {
  const used = held.filter(({ idle }) => idle < addressSeconds - longestSeconds);
  return new Set(used.map(({ network }) => network));
}

/** The sum of the most that each part of these machines had at any time. */
function sumOfHighest(samples: readonly Sample[], machines: readonly number[]): number {
  const highest = (machine: number, part: 0 | 1) =>
    Math.max(0, ...samples.map(({ connections }) => connections[machine]?.[part] ?? 0));
  return machines.reduce((sum, machine) => sum + highest(machine, 0) + highest(machine, 1), 0);
}

function networksOf(samples: readonly Sample[], machines: readonly number[]): Set<string> {
  return new Set(
    samples.flatMap(({ networks }) => machines.flatMap((machine) => networks[machine] ?? [])),
  );
}
