// The VPN of a node: charon builds the tunnels, RADIUS asks here about each login, the kernel counts, and what may no longer be is ended.
import { isIPv4 } from 'node:net';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { ownAddresses } from '../address.ts';
import { Certificate, type KeyPair } from '../certificate.ts';
import type { Clock } from '../clock.ts';
import type { Config } from '../config.ts';
import type { Explanation, Kept, Poll, VpnOffer } from '../engine.ts';
import type { Fault } from '../faults.ts';
import { nft } from '../firewall.ts';
import type { Rules, VpnLogin } from '../policy/decide.ts';
import { type DecisionCounts, DecisionTally } from '../policy/decision_tally.ts';
import { sentenceOf } from '../policy/denials.ts';
import { decideLogin } from '../policy/logins.ts';
import type { Position, ServerValue } from '../policy/records.ts';
import { SerialQueue } from '../serial_queue.ts';
import { Replica } from '../store/replica.ts';
import type { Unstored } from '../store/unstored.ts';
import type { VpnService } from '../vpn_password.ts';
import { Charon } from './charon.ts';
import {
  certificatesOf,
  connectionsOf,
  extraPool,
  ikeVersionOf,
  servedServices,
  serviceOf,
  sharedSecret,
} from './connections.ts';
import { L2tp } from './l2tp.ts';
import { findLack, findLackOfL2tp } from './machine.ts';
import { rangeOf } from './pool.ts';
import { type LoginAttempt, RadiusServer, type Verdict } from './radius_server.ts';
import { type Tunnel, type VpnSession, VpnSessions } from './sessions.ts';
import type { ViciMessage } from './vici.ts';
import { isInKernel, vpnFirewallRules } from './vpn_firewall.ts';

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

/** How long a login by PPP waits until the bytes of its address's client before are told. */
const address_seconds = 10;
/** How often tunnels are looked at, expiries pass, and what failed is tried again. */
const look_seconds = 1;
/** Mail servers refuse what comes from such addresses, and operators hear of it. */
const refused_ports = [25];

/** All that is to be served at a moment. */
interface Offer {
  server: ServerValue | null;
  services: VpnService[];
  /** Those of IPv4 that the machine has. */
  exits: string[];
  l2tp_exits: string[];
  /** Of the firewall. */
  rules: string;
}

/** The parts that run where a VPN is served. */
interface Serving {
  charon: Charon;
  radius: RadiusServer;
  sessions: VpnSessions;
  l2tp: L2tp;
}

export class Vpn {
  readonly #options: VpnOptions;
  readonly #replica: Replica;
  /** From the first time that the server has a VPN service. */
  #serving: Serving | undefined;
  #preparing: Promise<Serving> | undefined;
  readonly #certificate: Certificate;
  readonly #decisions = new DecisionTally();
  readonly #stopping = new AbortController();
  readonly #queue = new SerialQueue();
  /** The connections that charon was given, by name. */
  readonly #offered = new Map<string, string>();
  #given = '';
  /** The rules that the kernel was given. */
  #rules = '';
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
    // The sessions of an agent before are to be ended by what it heard: ahead of its first response, whatever charon does. What fails is told by the looks.
    if (!this.#serving && this.#isWanted) await this.#prepareOnce().catch(() => undefined);
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

  /** The services that are to be there, and the certificate that there is; undefined: none is. */
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
    await this.#queue.run(async () => {
      this.#replica.close();
      if (!this.#serving) return;
      const { charon, radius, sessions, l2tp } = this.#serving;
      radius.close();
      l2tp.close();
      if (!leave_running) {
        await Promise.all([charon.stop(), l2tp.stop()]);
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
    const { login, source, exit_ip, connection, proves, password, address } = attempt;
    const service = serviceOf(connection);
    if (address !== undefined) await this.#untilFree(address);
    const start = performance.now();
    const asked = { service: service ?? 'vpn-ikev2', login, exit_ip, proves, password };
    const decision = decideLogin(this.#replica.policy, rules, asked, clock.now());
    this.#decisions.noteTime((performance.now() - start) / 1000);
    const denied = decision.verdict === 'allow' ? undefined : decision.reason;
    const session =
      decision.verdict === 'allow'
        ? await this.#serving?.sessions.open(decision, address)
        : undefined;
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

  /** The daemon of L2TP gives an address out again as soon as it was given back. */
  async #untilFree(address: string): Promise<void> {
    const { clock } = this.#options;
    const until = clock.steady() + address_seconds;
    while (this.#serving?.sessions.isFree(address) === false && clock.steady() < until) {
      await clock.sleep(0.1);
    }
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

  /** The kernel lets nothing through from this moment on; what carries the tunnels tells the clients. */
  async #end({ charon, sessions }: Serving, ended: readonly VpnSession[]): Promise<void> {
    await sessions.close(ended);
    for (const { address } of ended) {
      const tunnel = sessions.tunnelOf(address);
      if (tunnel !== undefined) await this.#terminate(charon, tunnel);
    }
  }

  async #terminate(charon: Charon, tunnel: Tunnel): Promise<void> {
    try {
      if ('pppd' in tunnel) {
        process.kill(tunnel.pppd, 'SIGTERM');
        return;
      }
      await charon.command('terminate', { 'ike-id': tunnel.ike, force: 'yes', timeout: '-1' });
    } catch (error) {
      // It is tried again by the next look, and carries nothing meanwhile.
      this.#options.log.warn({ err: error, tunnel }, 'a tunnel could not be ended');
    }
  }

  // ---- charon -----------------------------------------------------------------------------

  /** Brings charon, the kernel and the policy together; what fails is a fault until it does not. */
  #look(): Promise<void> {
    return this.#queue.run(async () => {
      if (this.#stopping.signal.aborted) return;
      try {
        if (!this.#serving && !this.#isWanted) return;
        const serving = await this.#prepareOnce();
        if (await serving.charon.start()) {
          this.#offered.clear();
          this.#given = '';
        }
        const offer = this.#offer();
        // Ahead of all else: without it clients are held back from nothing. The sessions in it are lost, and their tunnels are ended below;
        // those of logins from now on are in the new one.
        const isKept = await isInKernel();
        if (!isKept) serving.sessions.forgetAll();
        if (!isKept || this.#rules !== offer.rules) await this.#applyFirewall(offer);
        await this.#load(serving.charon, offer);
        await this.#offerL2tp(serving.l2tp, offer);
        await this.#followTunnels(serving);
        await this.#closeRevoked();
        this.#note('service', undefined);
      } catch (error) {
        this.#note('service', `The VPN does not work: ${(error as Error).message}.`);
      }
    });
  }

  /** All that is to be served now, as far as the machine can. */
  #offer(): Offer {
    const { vpn, allowed } = this.#options.config;
    const { server } = this.#replica.policy;
    const own = ownAddresses();
    const exits = (server?.exit_ips ?? []).map(({ ip }) => ip);
    const dialled = exits.filter((ip) => isIPv4(ip) && own.has(ip));
    const listed = server ? servedServices(server) : [];
    const lack = listed.includes('vpn-l2tp') ? findLackOfL2tp(vpn) : undefined;
    this.#note('vpn-l2tp', lack && `vpn-l2tp is not served: ${lack.sentence}: ${lack.remedy}.`);
    const services = lack ? listed.filter((one) => one !== 'vpn-l2tp') : listed;
    const l2tp_exits = services.includes('vpn-l2tp') ? dialled : [];
    const { pool, pool6 } = vpn;
    const rules = vpnFirewallRules({ pool, pool6, allowed, refused_ports, l2tp_exits });
    return { server, services, exits: dialled, l2tp_exits, rules };
  }

  async #applyFirewall({ rules }: Offer): Promise<void> {
    await nft(rules);
    this.#rules = rules;
  }

  /** The parts, made the first time that they are needed. Errors: the machine lacks something; the next call tries anew. */
  async #prepareOnce(): Promise<Serving> {
    const lack = findLack(this.#options.config.vpn);
    if (lack) throw new Error(`${lack.sentence}: ${lack.remedy}`);
    this.#preparing ??= this.#prepare();
    try {
      this.#serving = await this.#preparing;
      return this.#serving;
    } catch (error) {
      this.#preparing = undefined;
      throw error;
    }
  }

  async #prepare(): Promise<Serving> {
    const { config, clock, log } = this.#options;
    const { vpn, state_dir } = config;
    await this.#applyFirewall(this.#offer());
    const sessions = new VpnSessions(rangeOf(vpn.pool), clock);
    await sessions.recover();
    const charon = new Charon({ state_dir, program: vpn.charon, ipsec: vpn.ipsec, clock, log });
    const { port, secret } = charon.radius;
    const evaluate = (attempt: LoginAttempt) => this.#evaluate(attempt);
    const radius = new RadiusServer({ secret, evaluate, clock, log });
    charon.setRadiusPort(await radius.listen(port));
    const l2tp = new L2tp({ dir: join(charon.paths.dir, 'l2tp'), vpn, evaluate, clock, log });
    return { charon, radius, sessions, l2tp };
  }

  /** Gives charon what it lacks of certificates, secrets and connections, and takes back what is no longer so. */
  async #load(charon: Charon, { server, services, exits }: Offer): Promise<void> {
    await this.#certificate.renew();
    const { current, fault } = this.#certificate;
    const isMissing = services.length > 0 && !current;
    this.#note('certificate', isMissing ? `The VPN has no certificate: ${fault}` : undefined);
    const certificates = certificatesOf(current?.cert ?? '');
    const wanted: Map<string, ViciMessage> =
      server && current ? connectionsOf(server, services, exits, certificates) : new Map();
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

  /** What fails with L2TP leaves the others. */
  async #offerL2tp(l2tp: L2tp, { l2tp_exits }: Offer): Promise<void> {
    try {
      await l2tp.offer(l2tp_exits);
      if (l2tp_exits.length > 0) this.#note('vpn-l2tp', undefined);
    } catch (error) {
      this.#note('vpn-l2tp', `vpn-l2tp is not served: ${(error as Error).message}.`);
    }
  }

  async #followTunnels({ charon, sessions, l2tp }: Serving): Promise<void> {
    const links = Array.from(l2tp.links(), ([address, pppd]) => [address, { pppd }] as const);
    const tunnels = new Map<string, Tunnel>(links);
    for (const event of await charon.list('list-sas', 'list-sa')) {
      for (const tunnel of Object.values(event) as ViciMessage[]) {
        const { uniqueid, 'remote-vips': addresses = [] } = tunnel;
        const address = (addresses as string[]).find((one) => isIPv4(one));
        if (address !== undefined) tunnels.set(address, { ike: String(uniqueid) });
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
