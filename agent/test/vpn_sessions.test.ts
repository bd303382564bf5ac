// Lives of the VPN's sessions with a model of the kernel: logins, changes, deaths and counts in any
// order, with commands that take their time.

import { expect, test } from 'vitest';
import { parseNetworks } from '../../kit/src/address.ts';
import { vpnPassword } from '../../kit/src/vpn_password.ts';
import { Random } from '../../server/test/random.ts';
import { tries } from '../../test/effort.ts';
import type { Traffic } from '../src/engine.ts';
import { revocationOf } from '../src/policy/decide.ts';
import type { Allowed, Rules } from '../src/policy/decision.ts';
import { decideLogin } from '../src/policy/logins.ts';
import { Policy } from '../src/policy/policy.ts';
import type { NodeRecord } from '../src/policy/records.ts';
import { rangeOf } from '../src/vpn/pool.ts';
import {
  type Tunnel,
  type VpnAuthority,
  type VpnSession,
  VpnSessions,
} from '../src/vpn/sessions.ts';
import { FakeKernel } from './fake_kernel.ts';
import { createSigningKey } from './histories.ts';
import { contractRecord, userRecord } from './node_records.ts';
import { vpnAuthority } from './vpn_scene.ts';

/** Bytes of one session. */
interface Bytes {
  up: number;
  down: number;
}

const lives = tries(3000);
const steps = 150;
const noon = 1_800_000_000;
const vpnKey = Buffer.alloc(32, 9).toString('base64url');
const exitIp = '198.51.100.1';
const accounts = [1, 2, 3];
/** Six for IKE, so that addresses are reused. */
const pool = rangeOf(parseNetworks('100.80.0.0/28')[0] as never);
const ppp = ['100.80.0.9', '100.80.0.10'];
const rules: Rules = {
  ...{ node: 7, connect_ports: [], http_ports: [], allowed: [] },
  staleness_seconds: 86_400,
};
const contract = (account: number, change: object = {}) =>
  contractRecord(account, { expiry: noon + 1000, ...change });

const records: NodeRecord[] = [
  {
    kind: 'server',
    value: {
      ...{ name: 'fra1', hostname: 'fra1.example.net', services: ['vpn-ikev2'], vpn_key: vpnKey },
      ...{ port_schemes: [], exit_ips: [{ ip: exitIp, port_base: 0 }] },
    },
  },
  ...accounts.flatMap((account) => [contract(account), userRecord(account)]),
];

/** Resolves when no part can continue. */
const settled = () => new Promise<void>((resolve) => setImmediate(resolve));

class Life {
  readonly trace: string[] = [];
  readonly #random: Random;
  readonly #kernel = new FakeKernel();
  readonly #policy = new Policy();
  #now = noon;
  #sessions: VpnSessions;
  /** The kernel's commands under way, which continue at random. */
  #waiting: Array<() => void> = [];
  /** The agent's work under way; none of a dead agent. */
  #doing = new Set<Promise<void>>();
  #changes = 0;
  readonly #tunnels = new Map<string, Tunnel>();
  /** The journal on disk. */
  #stored: { cursor: unknown; counted: Map<string, Traffic> } = { cursor: [], counted: new Map() };
  /** Reported by polls, and not on disk yet. */
  #unkept: { cursor: unknown; finished: Traffic[] } | undefined;
  #isPolling = false;
  /** Tunnels of sessions that the kernel lost, which exist until the next look. */
  #isLost = false;
  readonly #billed = new Map<string, Bytes>();
  /** Sessions that were reported as ended by a change, or by time. */
  readonly #revoked = new Set<string>();
  /** The least that is billed of a session that the kernel lost. */
  readonly #lost = new Map<string, Bytes>();
  /** The bytes of each session that the kernel let through. */
  readonly #due = new Map<string, Bytes>();

  constructor(random: Random) {
    this.#random = random;
    this.#kernel.pause = () => new Promise((resolve) => this.#waiting.push(resolve));
    this.#sessions = new VpnSessions(this.#options());
    for (const record of records) this.#policy.apply(record);
  }

  #options() {
    const clock = { now: () => this.#now, steady: () => this.#now, sleep: settled };
    const ownPorts = () => ({ first: 32_768, last: 60_999 });
    return { pool, kernel: this.#kernel, rules, policy: () => this.#policy, clock, ownPorts };
  }

  async step(): Promise<void> {
    const [name, act] = this.#random.one(drawn);
    this.trace.push(name);
    await act(this);
    await settled();
    this.#check();
  }

  /** Runs work that waits for the kernel, while this agent lives. */
  #do(work: (isAlive: () => boolean) => Promise<void>): void {
    const sessions = this.#sessions;
    const isAlive = () => this.#sessions === sessions;
    const done = work(isAlive)
      .catch((error: Error) => {
        // The kernel lost its rules meanwhile.
        if (isAlive() && !/no such table/.test(error.message)) this.fault ??= error;
      })
      .finally(() => this.#doing.delete(done));
    this.#doing.add(done);
  }
  fault: Error | undefined;

  goOn(): void {
    const [next] = this.#waiting.splice(this.#random.between(0, this.#waiting.length - 1), 1);
    next?.();
  }

  /** Lets all commands continue, until the agent has no more work. */
  async quiet(): Promise<void> {
    while (this.#doing.size > 0 || this.#waiting.length > 0) {
      this.goOn();
      await settled();
    }
  }

  // ---- What clients do ----------------------------------------------------------------------

  login(pppAddress?: string): void {
    const account = this.#random.one(accounts);
    const expiry = this.#random.one([null, null, noon + 120, noon + 600]);
    const token_version = this.#random.one([1, 1, 1, 2]);
    const password = vpnPassword(vpnKey, { account, user: 1, token_version, expiry });
    const ending = expiry === null ? '' : `~${(expiry / 60).toString(36)}`;
    const login = {
      ...{
        service: 'vpn-ikev2' as const,
        login: `alice@contract${account}${ending}`,
        exit_ip: exitIp,
      },
      kind: 'login' as const,
      proves: (secret: string) => secret === password,
    };
    const decision = decideLogin(this.#policy, rules, login, this.#now);
    if (decision.verdict !== 'allow') return;
    this.#do(async (isAlive) => {
      const outcome = await this.#sessions.open(decision, pppAddress);
      if (!isAlive() || typeof outcome === 'string') return;
      const { address, authority, connection } = outcome;
      this.trace.push(`${connection} has ${address}`);
      expect(address, 'the address of PPP').toBe(pppAddress ?? address);
      expect(
        revocationOf(this.#policy, rules, authority, this.#now, undefined),
        connection,
      ).toBeUndefined();
      const isShared = !this.#isLost && this.#tunnels.has(address);
      expect(isShared, 'the address has a tunnel').toBe(false);
      // charon does not wait that long.
      if (this.#now - outcome.since >= 30) return;
      if (this.#random.between(0, 4) > 0) this.#tunnels.set(address, { ike: connection });
    });
  }

  /** xl2tpd gives an address to one client at a time. */
  loginByPpp(): void {
    const pppAddress = this.#random.one(ppp);
    if (this.#tunnels.has(pppAddress)) return;
    this.#sessions.noteReuse(pppAddress);
    this.login(pppAddress);
  }

  transfer(): void {
    for (const address of this.#tunnels.keys()) {
      const [up, down] = [this.#random.between(0, 1000), this.#random.between(0, 9000)];
      if (!this.#kernel.transfer(address, up, down)) continue;
      const connection = this.#nameAt(address);
      const due = this.#due.get(connection) ?? { up: 0, down: 0 };
      this.#due.set(connection, { up: due.up + up, down: due.down + down });
    }
  }

  leave(): void {
    if (this.#tunnels.size > 0) this.#tunnels.delete(this.#random.one([...this.#tunnels.keys()]));
  }

  #nameAt = (address: string) => this.#kernel.kept.get(address)?.note.split(' ')[0] as string;

  // ---- What the agent does ------------------------------------------------------------------

  change(): void {
    const account = this.#random.one(accounts);
    const record = this.#random.one<NodeRecord>([
      contract(account, { suspended: true }),
      contract(account, { blocked: true }),
      contract(account, { expiry: noon + this.#random.between(0, 600) }),
      userRecord(account, { proxy: false }),
      userRecord(account, { token_version: 2 }),
      { kind: 'account', account, value: null },
      ...[contract(account), contract(account), userRecord(account), userRecord(account)],
    ]);
    this.#policy.apply(record);
    this.#changes += 1;
    this.closeRevoked([account]);
  }

  /**
   * Afterwards no session is open that is not allowed, except those that are about to be refused.
   */
  closeRevoked(accounts?: number[]): void {
    const [change, at] = [this.#changes, this.#now];
    const before = [...this.#sessions.all].filter(({ is_open }) => is_open);
    this.#do(async (isAlive) => {
      const revoked = await this.#sessions.closeRevoked(accounts);
      if (!isAlive()) return;
      for (const { connection } of revoked) {
        expect(this.#revoked.has(connection), `${connection} is ended again`).toBe(false);
        this.#revoked.add(connection);
      }
      if (change !== this.#changes) return;
      for (const { address, connection, authority } of before) {
        if (accounts && !accounts.includes(authority.account)) continue;
        const reason = revocationOf(this.#policy, rules, authority, at, undefined);
        const isOpen =
          this.#kernel.kept.get(address)?.is_open && this.#nameAt(address) === connection;
        if (isOpen) expect(reason, `${connection} is open`).toBeUndefined();
      }
    });
  }

  /** Afterwards the sessions that the account had are over; later ones may stay. */
  endByOrder(): void {
    const account = this.#random.one(accounts);
    const before = [...this.#sessions.all].filter(
      ({ is_open, authority }) => is_open && authority.account === account,
    );
    this.#do(async (isAlive) => {
      await this.#sessions.end({ account });
      if (!isAlive()) return;
      for (const { address, connection } of before) {
        const isOpen = this.#kernel.kept.get(address)?.is_open === true;
        expect(isOpen && this.#nameAt(address) === connection, `${connection} is open`).toBe(false);
      }
    });
  }

  look(): void {
    this.#isLost = false;
    for (const stray of this.#sessions.noteTunnels(new Map(this.#tunnels))) {
      for (const [address, tunnel] of this.#tunnels) {
        if (tunnel === stray) this.#tunnels.delete(address);
      }
    }
  }

  /** As the meter does; the disk may be full. */
  poll(): void {
    if (this.#isPolling) return;
    this.#isPolling = true;
    this.#do(async (isAlive) => {
      const unkept = this.#unkept ?? { cursor: this.#stored.cursor, finished: [] };
      const poll = this.#sessions.poll(unkept.cursor, this.#stored).finally(() => {
        if (isAlive()) this.#isPolling = false;
      });
      const { finished, open, cursor } = await poll;
      if (!isAlive()) return;
      this.#unkept = { cursor, finished: [...unkept.finished, ...finished] };
      if (this.#random.between(0, 3) === 0) return;
      for (const { connection, up, down } of this.#unkept.finished) {
        expect(this.#billed.has(connection), `${connection} is reported again`).toBe(false);
        this.#billed.set(connection, { up, down });
      }
      const counted = new Map(this.#stored.counted);
      for (const session of open) counted.set(session.connection, session);
      for (const { connection } of this.#unkept.finished) counted.delete(connection);
      this.#stored = { cursor, counted };
      this.#unkept = undefined;
    });
  }

  async flush(): Promise<void> {
    this.#lose();
    this.#do(() => this.#sessions.restore(() => this.#kernel.apply()));
    await this.quiet();
  }

  async killAgent(): Promise<void> {
    this.#waiting = [];
    this.#doing.clear();
    this.#unkept = undefined;
    this.#isPolling = false;
    this.#sessions = new VpnSessions(this.#options());
    this.#do(async () => {
      await this.#kernel.apply();
      await this.#sessions.recover();
    });
    await this.quiet();
    this.closeRevoked();
  }

  /** Stops the agent for good, even during a login. Later it is started again. */
  async stop(): Promise<void> {
    this.#do(() => this.#sessions.shut());
    this.login();
    await this.quiet();
    const open = [...this.#kernel.kept.values()].filter(({ is_open }) => is_open);
    expect(open, 'open after the stop').toEqual([]);
    this.#tunnels.clear();
    await this.killAgent();
  }

  cutPower(): Promise<void> {
    this.#tunnels.clear();
    this.#lose();
    return this.killAgent();
  }

  /** For lost sessions, at least the bytes in the journal are billed, and no more than passed. */
  #lose(): void {
    for (const address of this.#kernel.kept.keys()) {
      const connection = this.#nameAt(address);
      this.#lost.set(connection, this.#stored.counted.get(connection) ?? { up: 0, down: 0 });
    }
    this.#kernel.lose();
    this.#isLost = true;
  }

  pass(): void {
    this.#now += this.#random.one([1, 1, 10, 40]);
  }

  // ---- What must be -------------------------------------------------------------------------

  #check(): void {
    if (this.fault) throw this.fault;
    for (const connection of this.#billed.keys()) this.#checkBilled(connection);
    const ports = Array.from(this.#kernel.kept.values(), ({ exit_ports }) => exit_ports?.first);
    if (ports.includes(undefined) || new Set(ports).size < ports.length) {
      expect.fail(`clients share ports: ${ports}`);
    }
  }

  #checkBilled(connection: string): void {
    const { up, down } = this.#billed.get(connection) ?? { up: 0, down: 0 };
    const due = this.#due.get(connection) ?? { up: 0, down: 0 };
    const least = this.#lost.get(connection) ?? due;
    const isEnough = up >= least.up && down >= least.down;
    const isTooMuch = up > due.up || down > due.down;
    // Compared after each step: `expect` would cost as much as everything else.
    if (isEnough && !isTooMuch) return;
    expect.fail(`${connection}: ${JSON.stringify({ billed: { up, down }, least, due })}`);
  }

  /**
   * At the end no session is open that is not allowed. When all clients have left, none is open,
   * held or unbilled.
   */
  async end(): Promise<void> {
    await this.quiet();
    this.closeRevoked();
    await this.quiet();
    const open = [...this.#sessions.all].filter(({ is_open }) => is_open);
    expect(open.map(({ address }) => address).sort()).toEqual(
      [...this.#kernel.kept.values()]
        .filter(({ is_open }) => is_open)
        .map(({ address }) => address)
        .sort(),
    );
    for (const { authority, connection } of open) {
      expect(
        revocationOf(this.#policy, rules, authority, this.#now, undefined),
        connection,
      ).toBeUndefined();
    }
    this.#tunnels.clear();
    this.#now += 60;
    for (let count = 0; count < 20; count += 1) {
      this.look();
      this.poll();
      await this.quiet();
    }
    this.#check();
    expect(this.#kernel.kept.size).toBe(0);
    for (const connection of this.#due.keys()) this.#checkBilled(connection);
  }
}

type Act = (life: Life) => void | Promise<void>;
/** Steps, each with its weight. */
const acts: Array<[times: number, name: string, act: Act]> = [
  [30, 'the kernel goes on', (life) => life.goOn()],
  [5, 'all goes on', (life) => life.quiet()],
  [10, 'login', (life) => life.login()],
  [5, 'login by PPP', (life) => life.loginByPpp()],
  [12, 'transfer', (life) => life.transfer()],
  [5, 'leave', (life) => life.leave()],
  [6, 'change', (life) => life.change()],
  [2, 'the clock is looked at', (life) => life.closeRevoked()],
  [3, 'an order', (life) => life.endByOrder()],
  [8, 'look', (life) => life.look()],
  [10, 'poll', (life) => life.poll()],
  [4, 'time passes', (life) => life.pass()],
  [2, 'agent dies', (life) => life.killAgent()],
  [1, 'agent stops', (life) => life.stop()],
  [1, 'rules are flushed', (life) => life.flush()],
  [1, 'power cut', (life) => life.cutPower()],
];
const drawn = acts.flatMap(([times, name, act]) =>
  Array.from({ length: times }, () => [name, act] as const),
);

test(`whatever happens in whatever order, no session is open that may not be, and each byte is reported once: ${lives} lives`, async () => {
  const { seed } = Random.printed('sessions of the VPN');
  for (let life = 0; life < lives; life += 1) {
    const machine = new Life(new Random(seed + life));
    try {
      for (let remaining = steps; remaining > 0; remaining -= 1) await machine.step();
      await machine.end();
    } catch (error) {
      const replayHint = `EXITWARD_TEST_SEED=${seed + life} replays it:\n${machine.trace.join('\n')}`;
      throw new Error(`${(error as Error).message}\n${replayHint}`, { cause: error });
    }
  }
});

/** The policy of an agent at noon. */
function usual() {
  const policy = new Policy();
  for (const record of records) policy.apply(record);
  const clock = { now: () => noon, steady: () => noon, sleep: settled };
  return { pool, kernel: new FakeKernel(), rules, policy: () => policy, clock };
}

const claims = { account: 1, user: 1, token_version: 1 };

test.each<VpnAuthority>([
  { by: 'vpn', ...claims, expiry: null, generation: 0 },
  { by: 'vpn', ...claims, expiry: noon + 60, generation: 0 },
  { by: 'token', ...claims, expiry: noon + 60, kid: 'k1' },
])('the next agent takes over a session with all that it was let in by: %j', async (authority) => {
  const options = usual();
  options.policy().apply({ kind: 'keys', value: [createSigningKey('k1').public] });
  const sessions = new VpnSessions(options);
  const opened = await sessions.open({ verdict: 'allow', authority, exit_ip: exitIp } as Allowed);
  expect(opened).toMatchObject({ authority, is_open: true });
  const next = new VpnSessions(options);
  await next.recover();
  const { client: _, ends: __, ...session } = opened as VpnSession;
  expect([...next.all]).toEqual([session]);
});

test('an order ends the tunnels that it names by account, service, address and exit, before any look at them', async () => {
  const sessions = new VpnSessions(usual());
  const open = async (account: number, service: string, address: string) => {
    const authority = { by: 'vpn', ...claims, account, expiry: null, generation: 0 } as const;
    const allowed = { verdict: 'allow', authority, exit_ip: exitIp } as Allowed;
    return (await sessions.open(allowed, undefined, undefined, service, address)) as VpnSession;
  };
  const all = [
    await open(1, 'vpn-ikev2', '192.0.2.1'),
    await open(1, 'vpn-l2tp', '192.0.2.1'),
    await open(1, 'vpn-ikev2', '2001:db8::1'),
    await open(2, 'vpn-ikev2', '192.0.2.1'),
  ];
  const isOpen = () => all.map(({ is_open }) => is_open);
  expect(await sessions.end({ account: 1, user: 2 })).toBe(0);
  expect(await sessions.end({ exit_ip: '198.51.100.9' })).toBe(0);
  expect(
    await sessions.end({ account: 1, user: 1, address: '192.0.2.1', service: 'vpn-l2tp' }),
  ).toBe(1);
  expect(isOpen()).toEqual([true, false, true, true]);
  expect(await sessions.end({ address: '192.0.2.1' })).toBe(2);
  expect(isOpen()).toEqual([false, false, true, false]);
  expect(await sessions.end({ account: 1, exit_ip: exitIp })).toBe(1);
  expect(await sessions.end({})).toBe(0);
});

test('an address of PPP that is assigned again is free once its bytes are reported, though no look saw the tunnel before', async () => {
  const sessions = new VpnSessions(usual());
  const [pppAddress = ''] = ppp;
  const login = () =>
    sessions.open(
      { verdict: 'allow', authority: vpnAuthority, exit_ip: exitIp } as Allowed,
      pppAddress,
    );
  const first = (await login()) as VpnSession;
  sessions.noteTunnels(new Map());
  let { finished, cursor } = await sessions.poll([]);
  expect([finished, !sessions.hasSession(pppAddress)], 'it may be about to get its tunnel').toEqual(
    [[], false],
  );
  sessions.noteReuse(pppAddress);
  const reported: string[] = [];
  for (let polls = 0; polls < 3; polls += 1) {
    ({ finished, cursor } = await sessions.poll(cursor));
    reported.push(...finished.map(({ connection }) => connection));
  }
  expect([reported, !sessions.hasSession(pppAddress)]).toEqual([[first.connection], true]);
  expect(await login()).toMatchObject({ address: pppAddress, is_open: true });
});
