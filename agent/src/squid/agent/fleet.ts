// The Squids of a node: how many are needed, what each listens on, and whether they are alive.
import { createHash } from 'node:crypto';
import { chmodSync, chownSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { SerialQueue } from '../../../../kit/src/serial_queue.ts';
import { ownAddresses } from '../../address.ts';
import { Certificate, type KeyPair } from '../../certificate.ts';
import { type Fault, faultsOf } from '../../faults.ts';
import { machineNameServers } from '../../name_servers.ts';
import type { Listener } from '../../policy/policy.ts';
import { createSharedFolder } from '../../store/generations.ts';
import { divideListeners, squidConf } from '../conf/squid_conf.ts';
import { killSockets, listSockets } from '../sockets.ts';
import { copyCertificate } from './certificate_copy.ts';
import { findUnreadable } from './unix_user.ts';
import { createWorker, type Worker, type WorkerOptions } from './worker.ts';

const watchSeconds = 1;
const lookSeconds = 10;
/** Each attempt to open ports gives Squid a new decider, so attempts become rarer, up to this. */
const longestRetrySeconds = 600;
/** A Squid that leaves this many requests in a row unanswered is ended. */
const maxUnanswered = 6;
const longestPauseSeconds = 30;
/** A Squid that ran this long did not die because of its configuration. */
const steadySeconds = 60;
/** How long a restart waits for the counts of the dead Squid. */
const settlingSeconds = 3;
/** Enough for a decider to load a million entries. */
export const loadingSeconds = 60;

export class Fleet {
  readonly workers: Worker[] = [];
  readonly #options: WorkerOptions;
  readonly #folder: string;
  readonly #stopping = new AbortController();
  readonly #certificate: Certificate;
  #faults: Fault[] = [];
  /** As the engine last requested. */
  #wanted: readonly Listener[] | undefined;
  /** Ports whose earlier connections must be closed, and the fault that prevents it. */
  readonly #leaving = new Set<number>();
  #leavingFault: string | undefined;
  readonly #queue = new SerialQueue();
  #watching: Promise<void> = Promise.resolve();

  constructor(options: WorkerOptions) {
    this.#options = options;
    this.#folder = join(options.config.state_dir, 'squid');
    this.#certificate = new Certificate(options.config, () => options.clock.now());
  }

  /** The workers that run, or should. */
  get active(): Worker[] {
    return this.workers.filter(({ listeners }) => listeners?.length !== 0);
  }

  /** Takes over from an earlier agent, and starts watching. Errors: an unreadable path. */
  async start(): Promise<void> {
    const { state_dir } = this.#options.config;
    createSharedFolder(this.#folder, this.#options.user?.gid);
    const { user } = this.#options;
    if (user) {
      // Squid's group may enter the folder above the policy, but not list it.
      chownSync(state_dir, -1, user.gid);
      chmodSync(state_dir, statSync(state_dir).mode | 0o010);
      for (const path of [process.execPath, deciderFile, this.#folder]) {
        const unreadable = findUnreadable(path, user);
        if (unreadable === undefined) continue;
        throw new Error(
          `${unreadable}: the user ${user.name}, which Squid runs as, may not read it, but needs ${path}.`,
        );
      }
    }
    for (const name of readdirSync(this.#folder).filter((entry) => /^\d+$/.test(entry))) {
      const worker = await this.#add(Number(name));
      const pid = worker.squid.findProcess();
      if (pid === undefined) {
        worker.listeners = [];
        continue;
      }
      // If a decider died while no agent ran, its last report was lost.
      this.#options.connections.search(worker.squid.number);
      this.#options.log.info({ squid: worker.squid.number, process: pid }, 'Squid is taken over');
    }
    this.#watching = this.#watch();
  }

  /**
   * Makes the Squids listen on these ports, and ends Squids without a port. A port that is removed,
   * or moves to another exit or Squid, loses its connections.
   */
  listen(listeners: readonly Listener[]): Promise<void> {
    return this.#queue.run(() => {
      this.#wanted = listeners;
      return this.#listen(listeners);
    });
  }

  async #listen(listeners: readonly Listener[]): Promise<void> {
    const before = this.#placesInForce();
    try {
      await this.#place(await this.#servable(listeners));
    } finally {
      const after = this.#placesInForce();
      const gone = [...before].filter(([port, place]) => after.get(port) !== place);
      for (const [port] of gone) this.#leaving.add(port);
      if (this.#leaving.size > 0) await this.#closeLeaving();
      // A port that moved between Squids may have been in use at the first attempt.
      for (const worker of gone.length > 0 ? this.active : []) {
        if (this.#canRetry(worker)) await worker.squid.checkPorts();
      }
    }
  }

  /** Errors: the first error of a Squid, after all have been tried. */
  async #place(listeners: readonly Listener[]): Promise<void> {
    const { listeners_per_squid } = this.#options.config;
    const numbers = this.workers.map(({ squid }) => squid.number);
    const homes = Array.from(
      { length: Math.max(0, ...numbers.map((number) => number + 1)) },
      (_, number) => {
        const worker = this.workers.find(({ squid }) => squid.number === number);
        return new Set(worker?.squid.listeners?.map(({ exit_ip }) => exit_ip));
      },
    );
    const parts = divideListeners(listeners, listeners_per_squid, homes);
    for (const [number, part] of parts.entries()) {
      if (part.length > 0 && !numbers.includes(number)) await this.#add(number);
    }
    for (const worker of this.workers) {
      worker.listeners = parts[worker.squid.number] ?? [];
      if (worker.listeners.length === 0) await worker.squid.retire();
    }
    const errors = await each(this.active, (worker) => this.#apply(worker));
    if (errors.length > 0) throw errors[0];
  }

  /** By port of this machine: its exit and its Squid. */
  #placesInForce(): Map<number, string> {
    const places = new Map<number, string>();
    for (const { squid } of this.workers) {
      for (const { port, exit_ip } of squid.listeners ?? []) {
        places.set(port, `${exit_ip} of Squid ${squid.number}`);
      }
    }
    return places;
  }

  /** Closes the connections of ports that are gone. Called again until it succeeds. */
  async #closeLeaving(): Promise<void> {
    const ports = [...this.#leaving];
    try {
      const { listen_host } = this.#options.config;
      const sockets = await listSockets(ports, listen_host);
      const connections = sockets.map(({ connection }) => connection);
      await killSockets(connections, listen_host);
      this.#leaving.clear();
      this.#leavingFault = undefined;
    } catch (error) {
      this.#leavingFault = `The connections of the ports ${ports.join(', ')} cannot be closed: ${(error as Error).message}.`;
      this.#options.log.error(this.#leavingFault);
    }
  }

  faults(): Fault[] {
    const leaving = this.#leavingFault === undefined ? [] : [this.#leavingFault];
    return [
      ...this.#faults,
      ...this.#certificate.faults(),
      ...faultsOf('engine', leaving),
      ...this.active.flatMap(({ squid, death, fault }) => {
        const squidFaults = squid.faults();
        // A Squid may report the same fault itself.
        const isReported = squidFaults.some(({ message }) => message === death?.message);
        const died = death && !isReported ? [death] : [];
        return [...squidFaults, ...died, ...faultsOf('engine', fault === undefined ? [] : [fault])];
      }),
    ];
  }

  async stop({ leave_running }: { leave_running: boolean }): Promise<void> {
    this.#stopping.abort();
    await this.#watching;
    await this.#queue.idle();
    await Promise.all(
      this.workers.map(async ({ squid, link }) => {
        if (!leave_running) await squid.stop();
        await link.close();
      }),
    );
  }

  /**
   * The listeners that this node can open; others become faults. If the certificate is bad now, TLS
   * ports continue in the Squids that have a good one.
   */
  async #servable(listeners: readonly Listener[]): Promise<Listener[]> {
    const { tls, port_shift } = this.#options.config;
    const running = this.workers.filter(({ squid }) => tls && squid.findProcess() !== undefined);
    const served = new Set(running.flatMap(({ squid }) => [...squid.tls_ports]));
    await this.#certificate.renew(served.size > 0);
    const { fault } = this.#certificate;
    const isCertified = ({ tls, port }: Listener) =>
      !tls || fault === undefined || served.has(port + port_shift);
    const isPort = ({ port }: Listener) => port + port_shift >= 1 && port + port_shift <= 65_535;
    const uncertified = listeners.filter((listener) => !isCertified(listener));
    const outside = listeners.filter((listener) => !isPort(listener));
    const ports = (group: Listener[]) => group.map(({ port }) => port).join(', ');
    this.#faults = [];
    if (uncertified.length > 0) {
      const message = `No certificate for the ports ${ports(uncertified)}: ${fault}`;
      this.#faults.push({ kind: 'certificate', message });
    }
    if (fault !== undefined && served.size > 0) {
      const message = `The previous certificate stays in use: ${fault}`;
      this.#faults.push({ kind: 'certificate', message });
    }
    if (outside.length > 0) {
      const message = `With EXITWARD_AGENT_PORT_SHIFT ${port_shift} these are not valid ports: ${ports(outside)}.`;
      this.#faults.push({ kind: 'port', message });
    }
    return listeners.filter(
      (listener) => !uncertified.includes(listener) && !outside.includes(listener),
    );
  }

  async #add(number: number): Promise<Worker> {
    const worker = await createWorker(number, join(this.#folder, String(number)), this.#options);
    this.workers.push(worker);
    return worker;
  }

  async #apply(worker: Worker): Promise<void> {
    const { config, dir, user, clock } = this.#options;
    const { squid, listeners = [] } = worker;
    // It has a good certificate, and would read the bad one now.
    if (this.#keepsCertificate(worker)) return;
    const { current } = this.#certificate;
    const certificate = current && fingerprint(current);
    const tls =
      current && certificate !== undefined && user && listeners.some((listener) => listener.tls)
        ? copyCertificate(squid.paths.dir, certificate, current, user.gid)
        : config.tls;
    const conf = squidConf({
      listeners,
      config: { ...config, tls },
      paths: squid.paths,
      user: user?.name,
      decider: [process.execPath, deciderFile, dir, squid.paths.rules, squid.paths.agent_socket],
      certificate,
      own_addresses: ownAddresses(),
      name_servers: machineNameServers(),
    });
    const inForce = listeners.map(({ port, exit_ip, tls }) => ({
      port: port + config.port_shift,
      exit_ip,
      tls,
    }));
    const pid = squid.findProcess();
    await squid.apply(conf, inForce);
    if (squid.findProcess() !== pid) worker.started_at = worker.connected_at = clock.steady();
  }

  /** Whether ports can be tried again: for that, Squid reads its certificate again. */
  #canRetry(worker: Worker): boolean {
    return worker.squid.faults().length > 0 && !this.#keepsCertificate(worker);
  }

  #keepsCertificate({ listeners }: Worker): boolean {
    return this.#certificate.fault !== undefined && listeners?.some(({ tls }) => tls) === true;
  }

  // ---- Watching ---------------------------------------------------------------------------

  async #watch(): Promise<void> {
    const { clock, log } = this.#options;
    const { signal } = this.#stopping;
    for (let lastLookAt = clock.steady(); ; ) {
      await clock.sleep(watchSeconds, signal);
      if (signal.aborted) return;
      const isTime = clock.steady() - lastLookAt >= lookSeconds;
      if (isTime) lastLookAt = clock.steady();
      await this.#queue
        .run(async () => {
          if (this.#leaving.size > 0) await this.#closeLeaving();
          const errors = await each(this.active, async (worker) => {
            if (worker.squid.findProcess() === undefined) await this.#revive(worker);
            else if (isTime) await this.#look(worker);
          });
          for (const error of errors) log.error({ err: error }, 'watching Squid failed');
          // Applies changes of the certificate, and of this machine's addresses and name servers.
          const isCalm = this.workers.every(({ dead_since }) => dead_since === undefined);
          if (isTime && isCalm && this.#wanted) await this.#listen(this.#wanted);
        })
        .catch((error) => log.error({ err: error }, 'watching Squid failed'));
    }
  }

  /** Restarts a dead Squid, after a pause that grows if it dies soon after its start. */
  async #revive(worker: Worker): Promise<void> {
    const { clock, log } = this.#options;
    const now = clock.steady();
    if (worker.dead_since === undefined) {
      worker.deaths = now - worker.started_at < steadySeconds ? worker.deaths + 1 : 0;
      worker.dead_since = now;
      worker.death = worker.squid.deathFault();
      worker.isSettled = false;
      log.error({ squid: worker.squid.number, deaths: worker.deaths }, worker.death.message);
    }
    const pause = Math.min(2 ** worker.deaths - 1, longestPauseSeconds);
    const dead = now - worker.dead_since;
    if (dead < pause || (!worker.isSettled && dead < settlingSeconds)) return;
    worker.dead_since = undefined;
    worker.death = undefined;
    worker.isSettled = true;
    worker.started_at = worker.connected_at = now;
    worker.unanswered = 0;
    // Its old configuration may name a certificate that is bad now.
    if (this.#wanted && worker.squid.tls_ports.size > 0) await this.#listen(this.#wanted);
    else await worker.squid.start();
  }

  /** Checks whether it listens, responds and has a decider. */
  async #look(worker: Worker): Promise<void> {
    const { clock, log, config } = this.#options;
    const { squid, link } = worker;
    squid.boundLog();
    await this.#retryPorts(worker);
    const [port] = squid.ports.toSorted(
      (a, b) => Number(squid.tls_ports.has(a)) - Number(squid.tls_ports.has(b)),
    );
    if (port !== undefined) {
      const host = config.listen_host ?? '127.0.0.1';
      const responded = await squid.responds({ host, port, tls: squid.tls_ports.has(port) });
      worker.unanswered = responded ? 0 : worker.unanswered + 1;
    }
    if (worker.unanswered >= maxUnanswered) {
      log.error({ squid: squid.number }, 'Squid does not respond and is ended');
      await squid.stop('SIGKILL');
      return;
    }
    if (link.isConnected) worker.connected_at = clock.steady();
    else if (clock.steady() - worker.connected_at > loadingSeconds) {
      worker.fault = `The decider of Squid ${squid.number} does not connect.`;
      worker.connected_at = clock.steady();
      squid.killDeciders();
    }
  }

  /** Tries again to open its failed ports, after a pause that grows while this fails. */
  async #retryPorts(worker: Worker): Promise<void> {
    const { squid } = worker;
    const faults = JSON.stringify(squid.faults());
    if (faults !== worker.retried.faults) worker.retried = { faults, pause: 0, next_at: 0 };
    if (!this.#canRetry(worker)) return;
    const now = this.#options.clock.steady();
    if (now < worker.retried.next_at) return;
    const pause = Math.min(2 * worker.retried.pause || lookSeconds, longestRetrySeconds);
    await squid.checkPorts();
    worker.retried = { faults, pause, next_at: now + pause };
  }
}

/** Source or built, like this file. */
const deciderFile = fileURLToPath(
  new URL(`../decider/main.${import.meta.url.endsWith('.ts') ? 'ts' : 'js'}`, import.meta.url),
);

function fingerprint({ cert, key }: KeyPair): string {
  return createHash('sha256').update(cert).update(key).digest('hex').slice(0, 16);
}

/** Calls `turn` for each item, even if others fail, and returns the errors. */
async function each<T>(all: readonly T[], turn: (item: T) => Promise<void>): Promise<unknown[]> {
  const errors: unknown[] = [];
  for (const item of all) await turn(item).catch((error) => errors.push(error));
  return errors;
}
