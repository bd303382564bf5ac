// The VPN of a node: charon builds the tunnels, RADIUS asks here about each login, the kernel counts, and what may no longer be is ended.
import { isIPv4 } from 'node:net';
import type { Logger } from 'pino';
import { ownAddresses } from '../address.ts';
import { Certificate, type KeyPair } from '../certificate.ts';
import type { Clock } from '../clock.ts';
import type { Config } from '../config.ts';
import type { Explanation, Kept, Poll } from '../engine.ts';
import type { Fault } from '../faults.ts';
import type { Rules, VpnLogin } from '../policy/decide.ts';
import { type DecisionCounts, DecisionTally } from '../policy/decision_tally.ts';
import { sentenceOf } from '../policy/denials.ts';
import { decideLogin } from '../policy/logins.ts';
import type { Position, ServerValue } from '../policy/records.ts';
import { SerialQueue } from '../serial_queue.ts';
import { Replica } from '../store/replica.ts';
import type { Unstored } from '../store/unstored.ts';
import { Charon } from './charon.ts';
import {
  certificatesOf,
  connectionsOf,
  extraPool,
  servedServices,
  serviceOf,
  sharedSecret,
} from './connections.ts';
import { findLack } from './machine.ts';
import { rangeOf } from './pool.ts';
import { type LoginAttempt, RadiusServer, type Verdict } from './radius_server.ts';
import { type VpnSession, VpnSessions } from './sessions.ts';
import type { ViciMessage } from './vici.ts';
import { applyVpnFirewall, isInKernel } from './vpn_firewall.ts';

export interface VpnOptions {
  config: Config;
  rules: Rules;
  /** Where the store keeps the policy. */
  dir: string;
  /** The changes that it could not write. */
  unstored?: Unstored | undefined;
  clock: Clock;
  log: Logger;
}

/** How often tunnels are looked at, expiries pass, and what failed is tried again. */
const look_seconds = 1;
/** Mail servers refuse what comes from such addresses, and operators hear of it. */
const refused_ports = [25];

/** The parts that run where a VPN is served. */
interface Serving {
  charon: Charon;
  radius: RadiusServer;
  sessions: VpnSessions;
}

export class Vpn {
  readonly #options: VpnOptions;
  readonly #replica: Replica;
  /** From the first time that the server has a VPN service. */
  #serving: Serving | undefined;
  readonly #certificate: Certificate;
  readonly #decisions = new DecisionTally();
  readonly #stopping = new AbortController();
  readonly #queue = new SerialQueue();
  /** The connections that charon was given, by name. */
  readonly #offered = new Map<string, string>();
  #given = '';
  /** Why it does not serve, or not all. By subject. */
  readonly #faults = new Map<string, string>();

  constructor(options: VpnOptions) {
    const { config, dir, unstored, clock } = options;
    this.#options = options;
    this.#replica = new Replica(dir, unstored, true);
    this.#certificate = new Certificate(config, () => clock.now());
  }

  /** Looks after its tunnels until it is stopped. */
  run(): void {
    const { clock } = this.#options;
    const { signal } = this.#stopping;
    const look = async () => {
      while (!signal.aborted) {
        await this.#look();
        await clock.sleep(look_seconds, signal);
      }
    };
    void look();
  }

  /** Decides by all that the store holds, and ends what may no longer be. */
  async catchUp(): Promise<Position | undefined> {
    const touched = await this.#replica.catchUp();
    await this.#closeRevoked(touched === 'all' ? undefined : touched);
    return this.#replica.position;
  }

  async poll(cursor: unknown, kept?: Kept): Promise<Poll> {
    if (!this.#serving) return { finished: [], open: [], cursor: cursor ?? [] };
    return this.#serving.sessions.poll(cursor, kept);
  }

  /** As it would decide on this login with the right password. */
  async explain(login: Omit<VpnLogin, 'proves'>): Promise<Explanation> {
    const { policy, position } = this.#replica;
    if (!position) throw new Error('This node has no policy yet.');
    const { rules, clock } = this.#options;
    const proves = () => true;
    const decision = decideLogin(policy, rules, { ...login, proves }, clock.now());
    return { decision, position };
  }

  /** The decisions on logins, since it started. */
  get decisions(): DecisionCounts {
    return this.#decisions.counts;
  }

  /** How many tunnels there are; undefined: none are served, or it is not known yet. */
  get tunnels(): number | undefined {
    return this.#serving?.sessions.size;
  }

  faults(): Fault[] {
    const faults = Array.from(this.#faults, ([subject, message]): Fault => {
      return { kind: 'vpn', subject, message };
    });
    return this.#isWanted ? [...faults, ...this.#certificate.faults()] : [];
  }

  async stop({ leave_running }: { leave_running: boolean }): Promise<void> {
    this.#stopping.abort();
    await this.#queue.run(async () => {
      this.#replica.close();
      if (!this.#serving) return;
      const { charon, radius, sessions } = this.#serving;
      radius.close();
      if (!leave_running) {
        await charon.stop();
        sessions.noteTunnels(new Map());
        await sessions.close([...sessions.all]);
      }
      charon.close();
    });
  }

  get #isWanted(): boolean {
    const { server } = this.#replica.policy;
    return server !== null && servedServices(server).length > 0;
  }

  // ---- Logins -----------------------------------------------------------------------------

  async #evaluate(attempt: LoginAttempt): Promise<Verdict> {
    const { rules, clock, log } = this.#options;
    const { login, source, exit_ip, connection, proves, password } = attempt;
    const service = serviceOf(connection);
    const start = performance.now();
    const asked = { service: service ?? 'vpn-ikev2', login, exit_ip, proves, password };
    const decision = decideLogin(this.#replica.policy, rules, asked, clock.now());
    this.#decisions.noteTime((performance.now() - start) / 1000);
    const denied = decision.verdict === 'allow' ? undefined : decision.reason;
    const session =
      decision.verdict === 'allow' ? await this.#serving?.sessions.open(decision) : undefined;
    const reason = denied ?? (session ? undefined : 'too_many_connections');
    const told = { service, login, source, exit_ip };
    if (session && decision.verdict === 'allow') {
      this.#decisions.note(decision.authority.by);
      log.info({ ...told, connection: session.connection }, 'a VPN login was allowed');
      return { allowed: true, address: session.address };
    }
    const denial = reason ?? 'not_ready';
    this.#decisions.note(denial);
    log.info({ ...told, reason: denial }, 'a VPN login was denied');
    return { allowed: false, message: `${sentenceOf(denial)} (${denial})` };
  }

  // ---- Revocation -------------------------------------------------------------------------

  async #closeRevoked(accounts?: Iterable<number>): Promise<void> {
    const { config, rules, clock, log } = this.#options;
    if (config.on_revoke === 'leave' || !this.#serving) return;
    const { policy } = this.#replica;
    const revoked = new Map<string, string>();
    for (const { connection, reason } of this.#serving.sessions.authorities.revoked(
      policy,
      rules,
      clock.now(),
      accounts,
    )) {
      revoked.set(connection, reason);
    }
    if (revoked.size === 0) return;
    const { sessions: all } = this.#serving;
    const sessions = [...all.all].filter((one) => revoked.has(one.connection));
    await this.#end(this.#serving, sessions);
    for (const { connection } of sessions) {
      log.info({ connection, reason: revoked.get(connection) }, 'a VPN session was ended');
    }
  }

  /** The kernel lets nothing through from this moment on; charon tells the client. */
  async #end({ charon, sessions }: Serving, ended: readonly VpnSession[]): Promise<void> {
    await sessions.close(ended);
    for (const { address } of ended) {
      const tunnel = sessions.tunnelOf(address);
      if (tunnel !== undefined) await this.#terminate(charon, tunnel);
    }
  }

  async #terminate(charon: Charon, tunnel: string): Promise<void> {
    const how = { 'ike-id': tunnel, force: 'yes', timeout: '-1' };
    await charon.command('terminate', how).catch((error) => {
      // It is tried again by the next look, and carries nothing meanwhile.
      this.#options.log.warn({ err: error, tunnel }, 'charon did not end a tunnel');
    });
  }

  // ---- charon -----------------------------------------------------------------------------

  /** Brings charon, the kernel and the policy together; what fails is a fault until it does not. */
  #look(): Promise<void> {
    return this.#queue.run(async () => {
      if (this.#stopping.signal.aborted) return;
      try {
        if (!this.#serving && !this.#isWanted) return;
        const lack = findLack(this.#options.config.vpn);
        if (lack) throw new Error(`${lack.sentence}: ${lack.remedy}`);
        this.#serving ??= await this.#prepare();
        if (await this.#serving.charon.start()) {
          this.#offered.clear();
          this.#given = '';
        }
        // Ahead of all else: without it clients are held back from nothing. The sessions in it are lost, and their tunnels are ended below.
        if (!(await isInKernel())) {
          await this.#applyFirewall();
          this.#serving.sessions.forgetAll();
        }
        await this.#offer(this.#serving.charon);
        await this.#followTunnels(this.#serving);
        await this.#closeRevoked();
        this.#note('service', undefined);
      } catch (error) {
        this.#note('service', `The VPN does not work: ${(error as Error).message}.`);
      }
    });
  }

  #applyFirewall(): Promise<void> {
    const { vpn, allowed } = this.#options.config;
    return applyVpnFirewall({ pool: vpn.pool, pool6: vpn.pool6, allowed, refused_ports });
  }

  async #prepare(): Promise<Serving> {
    const { config, clock, log } = this.#options;
    const { vpn, state_dir } = config;
    await this.#applyFirewall();
    const sessions = new VpnSessions(rangeOf(vpn.pool), clock);
    await sessions.recover();
    const charon = new Charon({ state_dir, program: vpn.charon, ipsec: vpn.ipsec, clock, log });
    const { port, secret } = charon.radius;
    const evaluate = (attempt: LoginAttempt) => this.#evaluate(attempt);
    const radius = new RadiusServer({ secret, evaluate, clock, log });
    charon.setRadiusPort(await radius.listen(port));
    return { charon, radius, sessions };
  }

  /** Gives charon what it lacks of certificates, secrets and connections, and takes back what is no longer so. */
  async #offer(charon: Charon): Promise<void> {
    const { server } = this.#replica.policy;
    await this.#certificate.renew();
    const { current, fault } = this.#certificate;
    const wanted = server && current ? this.#wanted(server, current.cert) : new Map();
    const isMissing = server !== null && servedServices(server).length > 0 && !current;
    this.#note('certificate', isMissing ? `The VPN has no certificate: ${fault}` : undefined);
    const given = JSON.stringify([server?.vpn_key, server?.hostname, current?.cert]);
    if (current && server && given !== this.#given) {
      await this.#giveSecrets(charon, server, current);
      this.#offered.clear();
      this.#given = given;
    }
    for (const [name, connection] of wanted) {
      const text = JSON.stringify(connection);
      if (this.#offered.get(name) === text) continue;
      await charon.command('load-conn', { [name]: connection });
      this.#offered.set(name, text);
    }
    // Also those of an agent before.
    const { conns = [] } = await charon.command('get-conns');
    for (const name of conns as string[]) {
      if (wanted.has(name)) continue;
      await charon.command('unload-conn', { name });
      this.#offered.delete(name);
    }
  }

  #wanted(server: ServerValue, certificate: string): Map<string, ViciMessage> {
    const own = ownAddresses();
    const exits = server.exit_ips.map(({ ip }) => ip).filter((ip) => isIPv4(ip) && own.has(ip));
    return connectionsOf(server, exits, certificatesOf(certificate));
  }

  async #giveSecrets(charon: Charon, server: ServerValue, { cert, key }: KeyPair) {
    const { vpn } = this.#options.config;
    await charon.command('clear-creds');
    for (const data of certificatesOf(cert)) {
      await charon.command('load-cert', { type: 'X509', flag: 'NONE', data });
    }
    await charon.command('load-key', { type: 'any', data: key });
    const shared = sharedSecret(server);
    if (shared) await charon.command('load-shared', shared);
    const extra = { addrs: vpn.pool6, dns: vpn.dns };
    await charon.command('load-pool', { [extraPool]: extra });
  }

  async #followTunnels({ charon, sessions }: Serving): Promise<void> {
    const tunnels = new Map<string, string>();
    for (const event of await charon.list('list-sas', 'list-sa')) {
      for (const tunnel of Object.values(event) as ViciMessage[]) {
        const { uniqueid, 'remote-vips': addresses = [] } = tunnel;
        const address = (addresses as string[]).find((one) => isIPv4(one));
        if (address !== undefined) tunnels.set(address, String(uniqueid));
      }
    }
    for (const stray of sessions.noteTunnels(tunnels)) await this.#terminate(charon, stray);
  }

  #note(subject: string, message: string | undefined): void {
    if (message === undefined) this.#faults.delete(subject);
    else if (this.#faults.get(subject) !== message) {
      this.#options.log.error({ subject }, message);
      this.#faults.set(subject, message);
    }
  }
}
