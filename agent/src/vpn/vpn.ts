// The VPN of a node: charon builds the tunnels, and asks by RADIUS about each login; the kernel
// counts bytes; and sessions that are no longer allowed are ended.
import { existsSync } from 'node:fs';
import { isIPv4 } from 'node:net';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { canonicalAddress } from '../../../kit/src/address.ts';
import type { EndOrder, Position } from '../../../kit/src/node_interface.ts';
import { SerialQueue } from '../../../kit/src/serial_queue.ts';
import { Certificate } from '../certificate.ts';
import type { Clock } from '../clock.ts';
import type { Config } from '../config.ts';
import type { Explanation, OpenConnection, Poll, Stored, VpnOffer } from '../engine.ts';
import type { OpenUse } from '../exit_use.ts';
import type { Fault } from '../faults.ts';
import { readOutgoingPorts } from '../outgoing_ports.ts';
import { within } from '../policy/decide.ts';
import type { Authority, Rules, VpnLogin } from '../policy/decision.ts';
import { type DecisionCounts, DecisionTally } from '../policy/decision_tally.ts';
import { sentenceOf } from '../policy/denials.ts';
import { decideLogin } from '../policy/logins.ts';
import { type Refusal, Refusals, refusedBy } from '../policy/refusals.ts';
import { Replica } from '../store/replica.ts';
import type { Unstored } from '../store/unstored.ts';
import { type Elsewhere, type Holding, UserCounts } from '../user_counts.ts';
import { Charon } from './charon.ts';
import { ikeVersionOf, servedServices, serviceOf } from './connections.ts';
import { L2tp } from './l2tp.ts';
import { findLack, findPoolConflict } from './machine.ts';
import { findFullConntrack, Passage } from './passage.ts';
import { rangeOf } from './pool.ts';
import { type LoginAttempt, RadiusServer, type Verdict } from './radius_server.ts';
import { RefusedKeys } from './refused_keys.ts';
import { type Offer, offerOf, Serving } from './serving.ts';
import { VpnSessions } from './sessions.ts';
import { flowBytes, nftSessions, RulesInForce } from './vpn_firewall.ts';

export interface VpnOptions {
  config: Config;
  rules: Rules;
  /** Where the store keeps the policy. */
  dir: string;
  /** The changes that the store could not write. */
  unstored?: Unstored | undefined;
  clock: Clock;
  log: Logger;
}

/** How long a PPP login waits for the report of the address's previous session. */
const addressSeconds = 10;
/** How often the passage through the machine is checked. */
const passageSeconds = 10;
/** How often tunnels and expiries are checked, and failures retried. */
const lookSeconds = 1;
/** How often the rules are listed, which also reads the sessions; as for the proxies' guard. */
const rulesLookSeconds = 5;

const keysRefused =
  'New keys were refused in an open tunnel within the last hour, and the tunnel ended: the settings of a client differ from its profile (docs/vpn.md, New keys). charon.log has the line, with the client above it.';
/** Stands for no client: it does not count for a limit on addresses. */
const addressOfNoClient = '::';
const droppedByOthers =
  'Clients of the VPN connect but reach nothing: another firewall on this machine drops their packets (a forward policy of drop, by Docker, ufw or firewalld). Run exitward-agent doctor to find it';

export class Vpn {
  readonly #options: VpnOptions;
  readonly #replica: Replica;
  /** The kernel's sessions; undefined until there may be any. */
  #sessions: VpnSessions | undefined;
  #takingOver: Promise<VpnSessions> | undefined;
  readonly #refusedKeys: RefusedKeys;
  /** Undefined until the server has a VPN service for the first time. */
  #serving: Serving | undefined;
  #radius: RadiusServer | undefined;
  readonly #certificate: Certificate;
  readonly #decisions = new DecisionTally();
  readonly #refusals = new Refusals();
  readonly #users = new UserCounts(() => this.#replica.policy);
  readonly #stopping = new AbortController();
  #loops: Array<Promise<void>> = [];
  readonly #enforcing = new SerialQueue();
  readonly #passage = new Passage();
  /** Aborted to look at the tunnels at once. */
  #pause = new AbortController();
  /** The rules that were last applied. */
  #rules = '';
  readonly #rulesInForce = new RulesInForce();
  /** When the kernel's rules are compared next, in steady seconds. */
  #rulesDue = 0;
  /** Why the VPN is not fully served, by subject. */
  readonly #faults = new Map<string, string>();

  constructor(options: VpnOptions) {
    const { config, dir, unstored, clock } = options;
    this.#options = options;
    this.#replica = new Replica(dir, unstored, true);
    this.#certificate = new Certificate(config, () => clock.now());
    this.#refusedKeys = new RefusedKeys(join(this.#dir, 'charon.log'));
  }

  /**
   * Starts the loops, which run until `stop`. They never wait for each other, so a charon that
   * hangs does not keep sessions open.
   */
  run(): void {
    const { clock } = this.#options;
    const { signal } = this.#stopping;
    const repeat = async (look: () => Promise<void>, pauseSeconds = lookSeconds) => {
      while (!signal.aborted) {
        await look();
        await clock.sleep(pauseSeconds, signal);
      }
    };
    this.#loops = [
      repeat(() => this.#guard()),
      repeat(() => this.#serve()),
      repeat(() => this.#watchPassage(), passageSeconds),
      this.#followTunnels(),
    ];
  }

  /** Decides by everything that the store holds, and ends sessions that are no longer allowed. */
  async catchUp(): Promise<Position | undefined> {
    const touched = await this.#replica.catchUp();
    // Sessions of an earlier agent must be checked against everything that it had received. A
    // failure is reported by the loops.
    if (!this.#sessions && this.#isNeeded) await this.#takeOver().catch(() => undefined);
    await this.#closeRevoked(touched === 'all' ? undefined : touched);
    return this.#replica.position;
  }

  async poll(cursor: unknown, stored?: Stored): Promise<Poll> {
    if (this.#sessions) return this.#sessions.poll(cursor, stored);
    // Without its folder there never was a session, so this journal reports every session.
    const begun = existsSync(this.#dir) ? null : [];
    return { finished: [], open: [], cursor: cursor ?? begun };
  }

  /** For the connection log. */
  uses(): Iterable<OpenUse> {
    return this.#sessions?.uses() ?? [];
  }

  /** The tunnels of clients. */
  connections(): Iterable<OpenConnection> {
    return this.#sessions?.connections() ?? [];
  }

  /** Ends tunnels: the kernel stops their packets at once, and clients are informed next. */
  async end(order: EndOrder): Promise<number> {
    const ended = (await this.#sessions?.end(order)) ?? 0;
    if (ended > 0) this.#pause.abort();
    return ended;
  }

  /** The decision on this login. */
  async explain(login: VpnLogin): Promise<Explanation> {
    const { policy, position } = this.#replica;
    if (!position) throw new Error('This node has no policy yet.');
    const { rules, clock } = this.#options;
    const { service, source = addressOfNoClient } = login;
    const objectionTo = (_: string, authority: Authority) => {
      if (authority.by !== 'vpn' && authority.by !== 'token') return 'bad_token';
      return this.#sessions ? this.#sessions.objectionTo(authority, service, source) : 'not_ready';
    };
    const decision = within(objectionTo, source, decideLogin(policy, rules, login, clock.now()));
    return { decision, position };
  }

  /** The decisions on logins since the start. */
  get decisions(): DecisionCounts {
    return this.#decisions.counts;
  }

  /** The tunnels and addresses of users with limits. */
  held(): Holding[] {
    return this.#users.held(this.#options.clock.now());
  }

  /** Replaces those elsewhere, as last heard. */
  share(elsewhere: readonly Elsewhere[]): void {
    this.#users.share(elsewhere);
  }

  /** The logins refused since the last call. */
  takeRefusals(): Refusal[] {
    return this.#refusals.take();
  }

  /** The number of tunnels; undefined: none are served, or it is not known yet. */
  get tunnels(): number | undefined {
    return this.#sessions?.size;
  }

  /** The services that should be served, and the certificate; undefined: none. */
  get offer(): VpnOffer | undefined {
    const { server } = this.#replica.policy;
    if (!server || !this.#isWanted) return undefined;
    const exits = server.exit_ips.map(({ ip }) => ip).filter((ip) => isIPv4(ip));
    const services = servedServices(server).flatMap((service) =>
      exits.map((ip) => {
        return {
          service,
          ip,
          version: ikeVersionOf(service),
          isLacking: this.#faults.has(service),
        };
      }),
    );
    return { services, certificate: this.#certificate.end };
  }

  faults(): Fault[] {
    const faults = Array.from(this.#faults, ([subject, message]): Fault => {
      return { kind: 'vpn', subject, message };
    });
    return this.#isWanted ? [...faults, ...this.#certificate.faults()] : [];
  }

  async stop({ leave_running }: { leave_running: boolean }): Promise<void> {
    this.#stopping.abort();
    this.#pause.abort();
    this.#radius?.close();
    this.#serving?.close();
    await Promise.all(this.#loops);
    this.#replica.close();
    if (!leave_running) {
      await this.#sessions?.shut();
      await this.#serving?.stop();
    }
    this.#serving?.close();
  }

  get #isWanted(): boolean {
    const { server } = this.#replica.policy;
    return server !== null && servedServices(server).length > 0;
  }

  /** Whether there may be sessions. Existing ones stay when the server loses its VPN services. */
  get #isNeeded(): boolean {
    if (existsSync(this.#dir)) return true;
    return this.#isWanted && !findPoolConflict(this.#options.config.vpn.pool);
  }

  get #dir(): string {
    return join(this.#options.config.state_dir, 'vpn');
  }

  // ---- Logins -----------------------------------------------------------------------------

  async #evaluate(attempt: LoginAttempt): Promise<Verdict> {
    const { rules, clock, log } = this.#options;
    const { login, source, source_port, exit_ip, connection, proves, password, address } = attempt;
    const service = serviceOf(connection);
    // Clients of IKEv1 log in again for new keys.
    const client = service === 'vpn-ikev1' ? { connection, login, source, source_port } : undefined;
    const from = canonicalAddress(source);
    if (address !== undefined) await this.#untilFree(address);
    const start = performance.now();
    const question = {
      ...{ kind: 'login' as const, service: service ?? 'vpn-ikev2' },
      ...{ login, exit_ip, proves, password },
    };
    const { policy } = this.#replica;
    const decision = decideLogin(policy, rules, question, clock.now());
    this.#decisions.noteTime((performance.now() - start) / 1000);
    const outcome =
      decision.verdict === 'allow'
        ? ((client && this.#sessions?.resume(client, decision.authority)) ??
          (await this.#sessions?.open(decision, address, client, question.service, from)) ??
          'not_ready')
        : decision.reason;
    const logFields = { service, login, source, exit_ip };
    if (typeof outcome === 'object') {
      this.#decisions.note(outcome.authority.by);
      log.info({ ...logFields, connection: outcome.connection }, 'a VPN login was allowed');
      return { allowed: true, address: outcome.address };
    }
    this.#decisions.note(outcome);
    const principal = decision.verdict === 'allow' ? decision : decision.principal;
    const denied = { reason: outcome, ...(principal && { principal }) };
    this.#refusals.note(refusedBy(policy, question, source, denied), clock.now());
    log.info({ ...logFields, reason: outcome }, 'a VPN login was denied');
    return { allowed: false, message: `${sentenceOf(outcome)} (${outcome})` };
  }

  /** Waits until an address has no session: the L2TP daemon assigns addresses again at once. */
  async #untilFree(address: string): Promise<void> {
    const { clock } = this.#options;
    const until = clock.steady() + addressSeconds;
    this.#sessions?.noteReuse(address);
    while (this.#sessions?.hasSession(address) && clock.steady() < until) {
      await clock.sleep(0.1);
    }
  }

  // ---- The kernel -------------------------------------------------------------------------

  /** Keeps the rules in force, and ends sessions that expire. */
  async #guard(): Promise<void> {
    try {
      if (!this.#sessions && !this.#isNeeded) return;
      await this.#enforce(true);
      await this.#closeRevoked();
      this.#note('firewall', undefined);
    } catch (error) {
      this.#note(
        'firewall',
        `The rules of the VPN cannot be kept in force: ${(error as Error).message}.`,
      );
    }
  }

  /**
   * Puts the current rules in force, and returns the offer that they are for. Without them clients
   * are not restricted. `isLook`: checks whether the kernel still has them, and at intervals
   * whether another program changed them.
   */
  #enforce(isLook = false): Promise<Offer> {
    return this.#enforcing.run(async () => {
      const sessions = await this.#takeOver();
      const offer = this.#offer();
      const { clock, log } = this.#options;
      const rules = this.#rulesInForce;
      const isNew = this.#rules !== offer.rules;
      const isDue = isLook && !isNew && clock.steady() >= this.#rulesDue;
      const areChanged = isDue && !(await rules.areWhole());
      if (areChanged) log.warn('another program changed the rules of the VPN: they are restored');
      // Before new rules are applied, since then the loss of the old ones would go unnoticed.
      if (isNew || isLook) await sessions.restore(() => rules.apply(offer.rules));
      if (isNew || areChanged) await rules.apply(offer.rules);
      if (isDue) this.#rulesDue = clock.steady() + rulesLookSeconds;
      this.#rules = offer.rules;
      return offer;
    });
  }

  /** Checks that new keys are accepted, and that the machine lets clients' packets out. */
  async #watchPassage(): Promise<void> {
    if (!this.#sessions) return;
    const refused = this.#refusedKeys.look(this.#options.clock.steady());
    this.#note('keys', refused === 0 ? undefined : keysRefused);
    const full = findFullConntrack();
    this.#note('conntrack', full && `${full.sentence}: ${full.remedy}.`);
    const flows = await flowBytes().catch(() => undefined);
    // `#guard` reports missing rules.
    if (!flows) return;
    const isBlocked = this.#passage.isBlocked(flows);
    this.#note('forwarding', isBlocked ? `${droppedByOthers}.` : undefined);
  }

  #offer(): Offer {
    return offerOf(this.#replica.policy.server, this.#options.config);
  }

  /** Takes over the kernel's sessions. Errors: the kernel's; it may be called again. */
  async #takeOver(): Promise<VpnSessions> {
    this.#takingOver ??= this.#recover();
    try {
      this.#sessions = await this.#takingOver;
      return this.#sessions;
    } catch (error) {
      this.#takingOver = undefined;
      throw error;
    }
  }

  async #recover(): Promise<VpnSessions> {
    const { config, rules, clock } = this.#options;
    await this.#rulesInForce.apply(this.#offer().rules);
    const sessions = new VpnSessions({
      pool: rangeOf(config.vpn.pool),
      kernel: nftSessions,
      rules,
      policy: () => this.#replica.policy,
      clock,
      users: this.#users,
      ownPorts: config.connection_log.mode === 'off' ? undefined : readOutgoingPorts,
    });
    await sessions.recover();
    return sessions;
  }

  /**
   * Makes the kernel stop the sessions' packets. The next look at the tunnels informs the clients.
   */
  async #closeRevoked(accounts?: Iterable<number>): Promise<void> {
    const { config, log } = this.#options;
    if (config.on_revoke === 'leave' || !this.#sessions) return;
    const revoked = await this.#sessions.closeRevoked(accounts);
    for (const session of revoked) log.info(session, 'a VPN session was ended');
    if (revoked.length > 0) this.#pause.abort();
  }

  // ---- The daemons ------------------------------------------------------------------------

  /** Makes the daemons serve what the policy says; a failure is reported until it clears. */
  async #serve(): Promise<void> {
    try {
      if (!this.#serving && !this.#isWanted) return;
      const lack = findLack(this.#options.config.vpn);
      if (lack) throw new Error(`${lack.sentence}: ${lack.remedy}`);
      // Before clients are let in.
      const offer = await this.#enforce();
      if (!this.#serving) {
        this.#serving = await this.#prepare();
        // Clients whose login waited for this agent may have a tunnel by now.
        this.#pause.abort();
      }
      await this.#serving.offer(offer);
      this.#note('service', undefined);
    } catch (error) {
      this.#note('service', `The VPN does not work: ${(error as Error).message}.`);
    }
  }

  async #prepare(): Promise<Serving> {
    const { config, clock, log } = this.#options;
    const { vpn, state_dir } = config;
    const charon = new Charon({ state_dir, program: vpn.charon, ipsec: vpn.ipsec, clock, log });
    const { port, secret } = charon.radius;
    const evaluate = (attempt: LoginAttempt) => this.#evaluate(attempt);
    this.#radius = new RadiusServer({ secret, dns: vpn.dns, evaluate, clock, log });
    charon.setRadiusPort(await this.#radius.listen(port));
    const l2tp = new L2tp({ dir: join(charon.paths.dir, 'l2tp'), vpn, evaluate, clock, log });
    const note = (subject: string, message: string | undefined) => this.#note(subject, message);
    return new Serving({ charon, l2tp, certificate: this.#certificate, vpn, note });
  }

  /**
   * Reads all tunnels, and ends those without a session. A charon that does not respond is reported
   * as a fault of the services.
   */
  async #followTunnels(): Promise<void> {
    const { clock, log } = this.#options;
    while (!this.#stopping.signal.aborted) {
      this.#pause = new AbortController();
      try {
        const tunnels = await this.#serving?.tunnels(this.#sessions?.withTunnel ?? []);
        for (const stray of (tunnels && this.#sessions?.noteTunnels(tunnels)) ?? []) {
          await this.#serving?.end(stray);
        }
      } catch (error) {
        log.debug({ err: error }, 'the tunnels cannot be listed');
      }
      await clock.sleep(lookSeconds, this.#pause.signal);
    }
  }

  #note(subject: string, message: string | undefined): void {
    if (message === undefined) this.#faults.delete(subject);
    else if (this.#faults.get(subject) !== message) {
      this.#options.log.error({ subject }, message);
      this.#faults.set(subject, message);
    }
  }
}
