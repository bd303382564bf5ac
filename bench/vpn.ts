// The VPN of a node: logins in a second and what each costs, how soon a revoked session is dead,
// and what counting costs.
//   node bench/vpn.ts [--sessions 1000] [--logins 3000]
// As root with nftables the kernel is the real one, in a network namespace of its own; charon is a
// socket that speaks VICI.
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import pino from 'pino';
import { systemClock } from '../agent/src/clock.ts';
import { nft } from '../agent/src/firewall.ts';
import { loginOf } from '../agent/src/link/questions.ts';
import { decideLogin } from '../agent/src/policy/logins.ts';
import { rangeOf } from '../agent/src/vpn/pool.ts';
import { type Tunnel, VpnSessions } from '../agent/src/vpn/sessions.ts';
import { encode, Vici } from '../agent/src/vpn/vici.ts';
import { nftSessions, vpnFirewallRules } from '../agent/src/vpn/vpn_firewall.ts';
import { FakeKernel } from '../agent/test/fake_kernel.ts';
import { loginByEap, RadiusClient } from '../agent/test/radius_client.ts';
import { parseNetworks } from '../kit/src/address.ts';
import { quantile } from './clients.ts';
import { report } from './goals.ts';
import { contractOf, exitIp, passwordOf, policyOf, rules, secret } from './vpn_scene.ts';

const { values } = parseArgs({
  options: {
    sessions: { type: 'string', default: '1000' },
    logins: { type: 'string', default: '3000' },
    inside: { type: 'boolean', default: false },
  },
});
/** From a change to a dead tunnel, in milliseconds. */
const maxMs = { p50: 200, p99: 1000 };
const isReal = process.getuid?.() === 0 && spawnSync('nft', ['--version']).status === 0;
if (isReal && !values.inside) {
  const own = [process.execPath, fileURLToPath(import.meta.url), ...process.argv.slice(2)];
  const { status } = spawnSync('unshare', ['--net', ...own, '--inside'], { stdio: 'inherit' });
  process.exit(status ?? 1);
}
if (isReal) spawnSync('ip', ['link', 'set', 'lo', 'up']);

// ---- Logins -------------------------------------------------------------------------------

const accounts = 1000;

const loginByPassword: typeof loginByEap = async (client, login, password) =>
  (await client.ask(login, [], password)).code;

async function logins(name: string, login: typeof loginByEap, count: number): Promise<void> {
  const path = fileURLToPath(new URL('vpn_process.ts', import.meta.url));
  const child = spawn(process.execPath, [path, String(accounts)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const port = Number((await lines.next()).value);
  const start = performance.now();
  let begun = 0;
  const work = async () => {
    const client = new RadiusClient({ port, secret, exit_ip: exitIp });
    while (begun < count) {
      begun += 1;
      const account = 1 + (begun % accounts);
      const code = await login(client, `alice@c${account}`, passwordOf(account));
      if (code !== 2) throw new Error(`a login was answered by ${code}`);
    }
    client.close();
  };
  await Promise.all(Array.from({ length: 16 }, work));
  const seconds = (performance.now() - start) / 1000;
  child.stdin.end();
  const took_us = Number((await lines.next()).value);
  const rate = (count / seconds).toFixed(0).padStart(6);
  console.log(
    `${name.padEnd(34)} ${rate} a second   ${(took_us / count / 1000).toFixed(2)} ms of CPU each`,
  );
}

// ---- Sessions -----------------------------------------------------------------------------

const kernel = isReal ? nftSessions : new FakeKernel();
const all = Number(values.sessions);
const pool = parseNetworks('100.80.0.0/12')[0] as NonNullable<ReturnType<typeof parseNetworks>[0]>;

async function filled(count: number) {
  if (isReal) {
    spawnSync('nft', ['flush', 'ruleset']);
    await nft(
      vpnFirewallRules({
        ...{ pool, pool6: 'fd00::/96', ipsec: 'kernel', has_ppp: false },
        ...{ allowed: [], refused_ports: [25], l2tp_exits: [] },
      }),
    );
  }
  const policy = policyOf(count);
  const clock = systemClock;
  const sessions = new VpnSessions({
    pool: rangeOf(pool),
    kernel,
    rules,
    policy: () => policy,
    clock,
  });
  const tunnels = new Map<string, Tunnel>();
  for (let account = 1; account <= count; account++) {
    const login = loginOf({ service: 'vpn-ikev2', login: `alice@c${account}`, exit_ip: exitIp });
    const decision = decideLogin(policy, rules, login, clock.now());
    if (decision.verdict !== 'allow') throw new Error(decision.reason);
    const session = await sessions.open(decision);
    if (typeof session === 'string') throw new Error(session);
    tunnels.set(session.address, { ike: String(account) });
  }
  sessions.noteTunnels(tunnels);
  return { policy, sessions, tunnels };
}

/** A charon that has ended each tunnel as soon as it gets the command. */
async function startCharon(path: string): Promise<() => void> {
  const server = createServer((socket) => {
    socket.on('data', () => {
      const body = Buffer.concat([Buffer.from([1]), encode({ success: 'yes' })]);
      const head = Buffer.alloc(4);
      head.writeUInt32BE(body.length);
      socket.write(Buffer.concat([head, body]));
    });
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  return () => server.close();
}

async function revocations(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'exitward-bench-'));
  const stop = await startCharon(join(folder, 'vici'));
  const vici = new Vici(join(folder, 'vici'), pino({ level: 'silent' }));
  const { policy, sessions, tunnels } = await filled(all);
  /**
   * Has charon end each of these; returns when it got the command, in milliseconds of
   * `performance`.
   */
  const end = async (of: VpnSessions, open: Map<string, Tunnel>) => {
    const at: number[] = [];
    for (const stray of of.noteTunnels(open)) {
      if ('ike' in stray) await vici.command('terminate', { 'ike-id': stray.ike, timeout: '-1' });
      at.push(performance.now());
    }
    return at;
  };
  const [dead, answered]: [number[], number[]] = [[], []];
  for (let account = 1; account <= all / 4; account++) {
    const start = performance.now();
    policy.apply(contractOf(account, true));
    if ((await sessions.closeRevoked([account])).length !== 1) throw new Error('it is not ended');
    dead.push(performance.now() - start);
    await end(sessions, tunnels);
    answered.push(performance.now() - start);
    // Opened in the order of the accounts.
    tunnels.delete([...tunnels.keys()][0] ?? '');
  }
  for (const list of [dead, answered]) list.sort((a, b) => a - b);
  const [p50, p99] = [quantile(dead, 0.5), quantile(dead, 0.99)];
  const shown = (list: number[]) =>
    `p50 ${quantile(list, 0.5).toFixed(1)} ms   p99 ${quantile(list, 0.99).toFixed(1)} ms`;
  const work = `one of ${all} sessions revoked until it is dead`;
  report({ work: `${work}, p50`, ours: p50, unit: 'ms', goal: { atMost: maxMs.p50 } });
  report({ work: `${work}, p99`, ours: p99, unit: 'ms', goal: { atMost: maxMs.p99 } });
  console.log(`  charon got the command: ${shown(answered)}`);
  const second = await filled(all);
  const start = performance.now();
  for (let account = 1; account <= all; account++) second.policy.apply(contractOf(account, true));
  const { length } = await second.sessions.closeRevoked();
  // In one transaction of the kernel.
  const ended = performance.now() - start;
  const each = (await end(second.sessions, second.tunnels)).map((at) => at - start);
  if (each.length !== all) throw new Error(`charon got ${each.length} commands of ${all}`);
  const goal = { atMost: maxMs.p99 };
  report({ work: `${length} sessions revoked at once`, ours: ended, unit: 'ms', goal });
  console.log(`  charon got the commands: ${shown(each)}`);
  vici.close();
  stop();
  rmSync(folder, { recursive: true });
}

async function counting(count: number): Promise<void> {
  const { sessions } = await filled(count);
  const took: number[] = [];
  for (let round = 0; round < 9; round += 1) {
    const start = performance.now();
    await sessions.poll([]);
    took.push(performance.now() - start);
  }
  took.sort((a, b) => a - b);
  console.log(
    `the counts of ${String(count).padStart(5)} sessions       p50 ${quantile(took, 0.5).toFixed(0)} ms`,
  );
}

await logins('logins by EAP-MSCHAPv2', loginByEap, Number(values.logins));
await logins('logins by password', loginByPassword, 3 * Number(values.logins));
console.log(
  isReal ? 'The kernel is the real one.' : 'The kernel is simulated: not root, or no nft.',
);
await revocations();
for (const count of [all, 10 * all]) await counting(count);
process.exit();
