// Checks each exit IP the way a customer would use it, and reports the results and those of the
// VPN's checks.
import type { Logger } from 'pino';
import { canonicalAddress } from '../../../kit/src/address.ts';
import type { ExitCheck } from '../../../kit/src/node_interface.ts';
import type { Clock } from '../clock.ts';
import type { ControlError } from '../control_error.ts';
import type { Fault } from '../faults.ts';
import { probeUser } from '../policy/decide.ts';
import type { Listener } from '../policy/policy.ts';
import { askEcho, type ProxyPort } from './echo.ts';
import { isOutOfPorts } from './exit_addresses.ts';
import { evaluate, type HealthStatus, maxRemembered, type Outcome } from './status.ts';
import { VpnHealth, type VpnHealthOptions, type VpnReport } from './vpn_health.ts';

export interface ExitHealth {
  ip: string;
  status: HealthStatus;
  /** Epoch seconds. */
  checked_at: number;
}

export interface HealthReport {
  exit_ips: ExitHealth[];
  /** Undefined: no VPN is served. */
  vpn?: VpnReport;
}

/** The part of the control plane that is needed. A rejection is a ControlError. */
export interface HealthReports {
  reportHealth(report: HealthReport): Promise<unknown>;
}

export interface HealthOptions {
  /** Where the engine listens, by port of the policy. */
  listeners: () => ReadonlyMap<number, Listener>;
  /** The VPN that should be served; undefined: none. */
  vpn: VpnHealthOptions['offer'];
  control: HealthReports;
  clock: Clock;
  log: Logger;
  /** The URL that responds with the address of its client. */
  echo_url: string;
  /** The password of the node's own user, who is not billed. */
  probe_password: string;
  /** Undefined: the engine listens on all addresses of the machine. */
  listen_host: string | undefined;
  /** Added to every port of the port scheme. */
  port_shift: number;
  health_seconds: number;
}

const slowSeconds = 2;
const timeoutSeconds = 10;
/** How long a check on request may take. */
const patienceSeconds = 3;
const maxAtOnce = 4;
const reportSeconds = 300;

/** The outcome of a check, and the reason if it failed. */
interface Checked {
  outcome: Outcome;
  reason?: string;
}

interface Exit {
  outcomes: Outcome[];
  /** Why the last failed check failed. */
  reason: string;
  status: HealthStatus;
  checked_at: number;
}

export class HealthChecks {
  readonly #options: HealthOptions;
  readonly #exits = new Map<string, Exit>();
  readonly #vpn: VpnHealth;
  /** The checks on request that are under way. */
  #requests = 0;
  /** Steady seconds. */
  #reportedAt = Number.NEGATIVE_INFINITY;
  #isNews = false;
  /** Why nothing can be checked at all; undefined if checks work. */
  #blind: string | undefined;

  constructor(options: HealthOptions) {
    this.#options = options;
    const { vpn: offer, clock, log } = options;
    this.#vpn = new VpnHealth({ offer, clock, log });
  }

  /** The health of the VPN; undefined: none is served, or it has not been checked yet. */
  vpn(): VpnReport | undefined {
    return this.#vpn.report();
  }

  /** The health of each checked exit. */
  exits(): ExitHealth[] {
    return Array.from(this.#exits, ([ip, { status, checked_at }]) => ({ ip, status, checked_at }));
  }

  /** The exits and VPN services that do not work, with the reason. */
  faults(): Fault[] {
    const broken = [...this.#exits].filter(([, { status }]) => status === 'crit');
    const exits = broken.map(([ip, { reason }]): Fault => {
      return { kind: 'exit', subject: ip, message: `The exit ${ip} fails: ${reason}.` };
    });
    const faults = [...exits, ...this.#vpn.faults()];
    if (this.#blind === undefined) return faults;
    const message = `Exits are not checked, as the echo ${this.#options.echo_url} cannot be reached: ${this.#blind}.`;
    return [...faults, { kind: 'exit', message }];
  }

  /** Checks and reports until the signal is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, health_seconds } = this.#options;
    while (!signal.aborted) {
      const start = clock.steady();
      await this.checkAll(signal);
      if (signal.aborted) return;
      await this.#report();
      // Until the engine listens there is nothing to check, so it looks again soon.
      const roundSeconds = this.#isEmpty ? 0 : health_seconds;
      await clock.sleep(Math.max(roundSeconds - (clock.steady() - start), 1), signal);
    }
  }

  get #isEmpty(): boolean {
    return this.#exits.size === 0 && !this.vpn();
  }

  /** One round: every exit once, over half the interval, with the VPN in parallel. */
  async checkAll(signal: AbortSignal): Promise<void> {
    const [isNews] = await Promise.all([this.#vpn.check(signal), this.#checkExits(signal)]);
    this.#isNews ||= isNews;
  }

  /** Checks an exit on request; this does not affect its health, which the rounds measure. */
  async checkNow(ip: string): Promise<ExitCheck> {
    const proxy = this.#proxies().get(ip);
    if (!proxy) return { fault: 'no proxy is served at this exit' };
    if (this.#requests >= maxAtOnce) return { fault: 'too many checks are under way; try again' };
    const { clock } = this.#options;
    const start = clock.steady();
    this.#requests += 1;
    try {
      const address = await this.#ask(proxy, new AbortController().signal, patienceSeconds);
      return { address, milliseconds: Math.round((clock.steady() - start) * 1000) };
    } catch (error) {
      return { fault: reasonOf(error) };
    } finally {
      this.#requests -= 1;
    }
  }

  async #checkExits(signal: AbortSignal): Promise<void> {
    const { clock, health_seconds } = this.#options;
    const proxies = this.#proxies();
    for (const ip of this.#exits.keys()) if (!proxies.has(ip)) this.#exits.delete(ip);

    const outcomes = new Map<string, Checked>();
    const running = new Set<Promise<void>>();
    let begun = 0;
    for (const [ip, proxy] of proxies) {
      if (begun > 0) await clock.sleep(health_seconds / 2 / proxies.size, signal);
      while (running.size >= maxAtOnce) await Promise.race(running);
      if (signal.aborted) break;
      const check = this.#check(ip, proxy, signal).then((outcome) => {
        outcomes.set(ip, outcome);
        running.delete(check);
      });
      running.add(check);
      begun += 1;
    }
    await Promise.all(running);
    if (proxies.size === 0) this.#blind = undefined;
    if (signal.aborted || outcomes.size === 0) return;

    // If no check gets a response, the echo is down, which says nothing about the exits.
    const isAnswered = [...outcomes.values()].some(({ outcome }) => outcome !== 'failed');
    const isBlind = !isAnswered && !(await this.#reachesEcho(signal));
    if (signal.aborted) return;
    if (!isBlind) this.#blind = undefined;
    for (const [ip, checked] of outcomes) this.#note(ip, isBlind ? undefined : checked);
  }

  /** By exit IP: its public port, preferably one without TLS. */
  #proxies(): Map<string, ProxyPort> {
    const { listeners, listen_host, port_shift, probe_password } = this.#options;
    const proxies = new Map<string, ProxyPort>();
    for (const { exit_ip, port, override, tls } of listeners().values()) {
      const other = proxies.get(exit_ip);
      if (override || (other && (tls || !other.tls))) continue;
      proxies.set(exit_ip, {
        host: listen_host ?? '127.0.0.1',
        port: port + port_shift,
        tls,
        user: probeUser,
        password: probe_password,
      });
    }
    return proxies;
  }

  async #check(ip: string, proxy: ProxyPort, signal: AbortSignal): Promise<Checked> {
    const { clock, log } = this.#options;
    const start = clock.steady();
    try {
      const address = await this.#ask(proxy, signal);
      if (address === canonicalAddress(ip)) {
        return { outcome: clock.steady() - start > slowSeconds ? 'slow' : 'right' };
      }
      log.warn({ exit_ip: ip, address }, 'an exit shows the wrong address');
      return { outcome: 'wrong', reason: `it shows the address ${address}` };
    } catch (error) {
      if (!signal.aborted) log.warn({ exit_ip: ip, err: error }, 'the check of an exit failed');
      const busy = (await isOutOfPorts(ip)) ? ', and all its ports are taken (exit_busy)' : '';
      return { outcome: 'failed', reason: `${reasonOf(error)}${busy}` };
    }
  }

  async #reachesEcho(signal: AbortSignal): Promise<boolean> {
    try {
      await this.#ask(undefined, signal);
      return true;
    } catch (error) {
      if (!signal.aborted) {
        this.#blind = reasonOf(error);
        this.#options.log.warn({ err: error }, 'the echo cannot be reached: exits are not checked');
      }
      return false;
    }
  }

  /** Asks the echo, within a time limit. */
  async #ask(
    proxy: ProxyPort | undefined,
    signal: AbortSignal,
    seconds = timeoutSeconds,
  ): Promise<string> {
    const over = new AbortController();
    const limit = new AbortController();
    const stop = AbortSignal.any([signal, over.signal]);
    void this.#options.clock.sleep(seconds, stop).then(() => {
      limit.abort(new Error(`no answer within ${seconds} seconds`));
    });
    try {
      return await askEcho(this.#options.echo_url, proxy, limit.signal);
    } catch (error) {
      // Clearer than "The operation was aborted".
      throw limit.signal.aborted ? limit.signal.reason : error;
    } finally {
      over.abort();
    }
  }

  #note(ip: string, { outcome, reason }: Partial<Checked> = {}): void {
    const unknown = { outcomes: [], reason: '', status: 'unknown', checked_at: 0 } as const;
    const exit: Exit = this.#exits.get(ip) ?? { ...unknown, outcomes: [] };
    const outcomes = outcome ? [...exit.outcomes, outcome].slice(-maxRemembered) : exit.outcomes;
    const status = outcome ? evaluate(outcomes) : 'unknown';
    if (status !== exit.status || exit.checked_at === 0) {
      this.#isNews = true;
      this.#options.log.info({ exit_ip: ip, before: exit.status, status }, 'health of an exit');
    }
    const checked_at = this.#options.clock.now();
    this.#exits.set(ip, { outcomes, reason: reason ?? exit.reason, status, checked_at });
  }

  /** Reports changes at once, and everything often enough that it does not count as stale. */
  async #report(): Promise<void> {
    const { clock, health_seconds, log } = this.#options;
    const isDue = clock.steady() + health_seconds > this.#reportedAt + reportSeconds;
    // There is also news without content: the VPN is no longer served.
    if (!(this.#isNews || (isDue && !this.#isEmpty))) return;
    try {
      await this.#send(this.exits(), this.vpn());
      this.#isNews = false;
      this.#reportedAt = clock.steady();
    } catch (error) {
      log.warn({ err: error }, 'health cannot be reported; it is tried again after the next check');
    }
  }

  async #send(exit_ips: ExitHealth[], vpn: VpnReport | undefined): Promise<void> {
    const { control } = this.#options;
    try {
      await control.reportHealth({ exit_ips, ...(vpn && { vpn }) });
    } catch (error) {
      // Older control planes reject an unknown member, and a body over 64 KiB.
      const { field, status } = error as ControlError;
      if (!vpn || (field !== 'vpn' && status !== 413)) throw error;
      await control.reportHealth({ exit_ips });
    }
  }
}

/** A short reason, without a stack trace. */
function reasonOf(error: unknown): string {
  const { message, code } = error as NodeJS.ErrnoException;
  return (message || code || 'it failed').replace(/\.$/, '');
}
