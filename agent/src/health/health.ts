// Checks each exit IP the way a client uses it, and reports the results and those of the VPN's
// checks.
import { canonicalAddress } from '../../../kit/src/address.ts';
import type {
  ExitCheck,
  ExitHealth,
  HealthReport,
  HealthStatus,
  VpnHealthReport,
} from '../../../kit/src/node_interface.ts';
import type { ControlError } from '../control_error.ts';
import type { Fault } from '../faults.ts';
import { probeUser } from '../policy/decide.ts';
import type { Listener } from '../policy/policy.ts';
import type { ReportParts } from '../reporting.ts';
import { askEcho, type ProxyPort } from './echo.ts';
import { isOutOfPorts } from './exit_addresses.ts';
import { evaluate, maxOutcomes, type Outcome } from './status.ts';
import { VpnHealth, type VpnHealthOptions } from './vpn_health.ts';

/** The part of the control plane that is needed. Rejects with a ControlError. */
export interface HealthReports {
  reportHealth(report: HealthReport): Promise<unknown>;
}

export interface HealthOptions extends ReportParts<HealthReports> {
  /** Returns where the engine listens, by port of the policy. */
  listeners: () => ReadonlyMap<number, Listener>;
  /** Returns the VPN that should be served; undefined: none. */
  vpn: VpnHealthOptions['offer'];
  /** The URL that responds with the address of its client. */
  echo_url: string;
  /** The password of the user of the node's own checks, who is not billed. */
  probe_password: string;
  /** Undefined: the engine listens on all addresses of the machine. */
  listen_host: string | undefined;
  /** Added to every port of the port scheme. */
  port_shift: number;
  health_seconds: number;
}

/** A check that takes longer has the outcome `slow`. */
const slowSeconds = 2;
/** How long a check may take: in a round, and on request. */
const timeoutSeconds = { round: 10, request: 3 };
const maxAtOnce = 4;
/** Everything is reported this often. */
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
  /** The number of checks on request that are under way. */
  #requests = 0;
  /** Steady seconds. */
  #lastReportedAt = Number.NEGATIVE_INFINITY;
  #isNews = false;
  /** Why the echo cannot be reached, so that no exit is checked; undefined: it can. */
  #echoFault: string | undefined;

  constructor(options: HealthOptions) {
    this.#options = options;
    const { vpn: offer, clock, log } = options;
    this.#vpn = new VpnHealth({ offer, clock, log });
  }

  /** The health of the VPN; undefined: none is served, or it has not been checked yet. */
  vpn(): VpnHealthReport | undefined {
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
    if (this.#echoFault === undefined) return faults;
    const message = `Exits are not checked, because the echo ${this.#options.echo_url} cannot be reached: ${this.#echoFault}.`;
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
      // With nothing to check, the engine may not listen yet, so the next look comes soon.
      const roundSeconds = this.#isEmpty ? 0 : health_seconds;
      await clock.sleep(Math.max(roundSeconds - (clock.steady() - start), 1), signal);
    }
  }

  get #isEmpty(): boolean {
    return this.#exits.size === 0 && !this.vpn();
  }

  /**
   * One round: checks every exit once, with the starts spread over half of `health_seconds`, and
   * the VPN in parallel.
   */
  async checkAll(signal: AbortSignal): Promise<void> {
    const [isNews] = await Promise.all([this.#vpn.check(signal), this.#checkExits(signal)]);
    this.#isNews ||= isNews;
  }

  /** Checks an exit on request. The result does not change its health, which comes from rounds. */
  async checkNow(ip: string): Promise<ExitCheck> {
    const proxy = this.#proxies().get(ip);
    if (!proxy) return { fault: 'no proxy is served at this exit' };
    if (this.#requests >= maxAtOnce) return { fault: 'too many checks are under way; try again' };
    const { clock } = this.#options;
    const start = clock.steady();
    this.#requests += 1;
    try {
      const address = await this.#ask(proxy, new AbortController().signal, timeoutSeconds.request);
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
    if (proxies.size === 0) this.#echoFault = undefined;
    if (signal.aborted || outcomes.size === 0) return;

    // If no check gets a response, the echo may be down, which says nothing about the exits.
    const isAnswered = [...outcomes.values()].some(({ outcome }) => outcome !== 'failed');
    const isBlind = !isAnswered && !(await this.#reachesEcho(signal));
    if (signal.aborted) return;
    if (!isBlind) this.#echoFault = undefined;
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
      const busy = (await isOutOfPorts(ip)) ? ', and all its ports are in use (exit_busy)' : '';
      return { outcome: 'failed', reason: `${reasonOf(error)}${busy}` };
    }
  }

  async #reachesEcho(signal: AbortSignal): Promise<boolean> {
    try {
      await this.#ask(undefined, signal);
      return true;
    } catch (error) {
      if (!signal.aborted) {
        this.#echoFault = reasonOf(error);
        this.#options.log.warn({ err: error }, 'the echo cannot be reached: exits are not checked');
      }
      return false;
    }
  }

  /** Asks the echo, within a time limit. */
  async #ask(
    proxy: ProxyPort | undefined,
    signal: AbortSignal,
    seconds = timeoutSeconds.round,
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
      // Its message is clearer than "The operation was aborted".
      throw limit.signal.aborted ? limit.signal.reason : error;
    } finally {
      over.abort();
    }
  }

  /** Adds an outcome to those of an exit, and logs a change of its status. */
  #note(ip: string, { outcome, reason }: Partial<Checked> = {}): void {
    const unknown = { outcomes: [], reason: '', status: 'unknown', checked_at: 0 } as const;
    const exit: Exit = this.#exits.get(ip) ?? { ...unknown, outcomes: [] };
    const outcomes = outcome ? [...exit.outcomes, outcome].slice(-maxOutcomes) : exit.outcomes;
    const status = outcome ? evaluate(outcomes) : 'unknown';
    if (status !== exit.status || exit.checked_at === 0) {
      this.#isNews = true;
      this.#options.log.info({ exit_ip: ip, before: exit.status, status }, 'health of an exit');
    }
    const now = this.#options.clock.now();
    this.#exits.set(ip, { outcomes, reason: reason ?? exit.reason, status, checked_at: now });
  }

  /** Reports changes at once, and everything at intervals, before it counts as stale. */
  async #report(): Promise<void> {
    const { clock, health_seconds, log } = this.#options;
    const isDue = clock.steady() + health_seconds > this.#lastReportedAt + reportSeconds;
    // News is reported even if nothing is checked any more: the VPN may have been switched off.
    if (!(this.#isNews || (isDue && !this.#isEmpty))) return;
    try {
      await this.#send(this.exits(), this.vpn());
      this.#isNews = false;
      this.#lastReportedAt = clock.steady();
    } catch (error) {
      log.warn(
        { err: error },
        'health cannot be reported; it will be reported after the next check',
      );
    }
  }

  async #send(exit_ips: ExitHealth[], vpn: VpnHealthReport | undefined): Promise<void> {
    const { control } = this.#options;
    try {
      await control.reportHealth({ exit_ips, ...(vpn && { vpn }) });
    } catch (error) {
      // Older control planes reject the VPN's health, and a body over 64 KiB.
      const { field, status } = error as ControlError;
      if (!vpn || (field !== 'vpn' && status !== 413)) throw error;
      await control.reportHealth({ exit_ips });
    }
  }
}

/** A short reason, without a stack trace and a full stop. */
function reasonOf(error: unknown): string {
  const { message, code } = error as NodeJS.ErrnoException;
  return (message || code || 'the check ended with an unknown error').replace(/\.$/, '');
}
