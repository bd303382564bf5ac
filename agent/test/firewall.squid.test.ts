// The nftables firewall, in network namespaces of its own: real sockets from exit addresses to
// private ones, and to others.
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseNetworks } from '../../kit/src/address.ts';
import { deepTest } from '../../test/deep_test.ts';
import { systemClock } from '../src/clock.ts';
import { readConfig } from '../src/config.ts';
import { Firewall, type FirewallOptions, firewallRules } from '../src/firewall.ts';
import { joinNetwork } from '../src/identity.ts';
import { runAgent } from '../src/main.ts';
import { briskClock } from './brisk_clock.ts';
import { FakeEngine, listed } from './fake_engine.ts';
import { until } from './proxy_world.ts';
import { ScriptedControl } from './scripted_control.ts';
import { putScript } from './shell_script.ts';

const namespace = `exitward-firewall-${process.pid}`;
/** The rest of the Internet. */
const beyond = `${namespace}-beyond`;
const exit4 = '198.51.100.1';
const exit6 = '2620:fe:1::1';
const other4 = '198.51.100.9';
const privates = ['10.9.9.9', '169.254.169.254', '127.0.0.1', 'fd00::9', '2002:a09:909::1'];
/** This machine's own. */
const own = ['9.9.9.10', '2620:fe:1::a', exit4, exit6];
const routed = ['9.9.9.9', '2620:fe:2::fe'];
const allowed = '10.8.8.8';

const server = `
  const net = require('node:net');
  net.createServer((socket) => socket.end('hello')).listen(8080, '::', () => console.log('ready'));
`;
const client = `
  const net = require('node:net');
  const [from, to] = process.argv.slice(1);
  const socket = net.connect({ host: to, port: 8080, localAddress: from });
  socket.setTimeout(3000, () => socket.destroy(new Error('timeout')));
  socket.on('error', (error) => console.log(error.code ?? error.message));
  socket.on('data', (data) => console.log(String(data)));
`;

const runIn = (name: string, command: string, ...args: string[]) =>
  execFileSync('ip', ['netns', 'exec', name, command, ...args], { encoding: 'utf8' }).trim();
const inside = (command: string, ...args: string[]) => runIn(namespace, command, ...args);
const connect = (from: string, to: string) => inside(process.execPath, '-e', client, from, to);
const usual: FirewallOptions = {
  exit_ips: [exit4, exit6],
  allowed: parseNetworks(`${allowed}/32`),
  proxy_user: undefined,
};
const apply = (options: Partial<FirewallOptions>) => {
  const rules = firewallRules({ ...usual, ...options });
  execFileSync('ip', ['netns', 'exec', namespace, 'nft', '-f', '-'], { input: rules });
};

const listening: Array<ReturnType<typeof spawn>> = [];

beforeAll(async () => {
  execFileSync('ip', ['netns', 'add', namespace]);
  inside('ip', 'link', 'set', 'lo', 'up');
  for (const ip of new Set([...own, other4, allowed, ...privates])) {
    if (ip !== '127.0.0.1') inside('ip', 'address', 'add', ip, 'dev', 'lo');
  }
  execFileSync('ip', ['netns', 'add', beyond]);
  inside('ip', 'link', 'add', 'out', 'type', 'veth', 'peer', 'name', 'in', 'netns', beyond);
  for (const [name, link, here, there] of [
    [namespace, 'out', 'fe80::1', 'fe80::2'],
    [beyond, 'in', 'fe80::2', 'fe80::1'],
  ] as const) {
    const ip = (...args: string[]) => runIn(name, 'ip', ...args);
    ip('link', 'set', link, 'up');
    ip('address', 'add', `${here}/64`, 'dev', link, 'nodad');
    ip('route', 'add', 'default', 'dev', link);
    ip('-6', 'route', 'add', 'default', 'via', there, 'dev', link);
  }
  runIn(beyond, 'ip', 'link', 'set', 'lo', 'up');
  for (const ip of routed) runIn(beyond, 'ip', 'address', 'add', ip, 'dev', 'lo');
  for (const name of [namespace, beyond]) {
    const child = spawn('ip', ['netns', 'exec', name, process.execPath, '-e', server]);
    listening.push(child);
    await new Promise((resolve) => child.stdout?.once('data', resolve));
  }
});

afterAll(() => {
  for (const child of listening) child.kill('SIGKILL');
  for (const name of [namespace, beyond]) execFileSync('ip', ['netns', 'delete', name]);
});

const exitTo = (to: string) => (to.includes(':') ? exit6 : exit4);

test('without the firewall an exit address reaches private destinations', () => {
  for (const to of privates) expect([to, connect(exitTo(to), to)]).toEqual([to, 'hello']);
});

test('the firewall rejects private destinations to exit addresses, and nothing else', () => {
  apply({});
  for (const to of privates) {
    expect([to, connect(exitTo(to), to)]).toEqual([to, expect.stringMatching(/^E[A-Z]+$/)]);
  }
  for (const to of routed) expect([to, connect(exitTo(to), to)]).toEqual([to, 'hello']);
  expect(connect(other4, '10.9.9.9')).toBe('hello');
});

test("the firewall rejects the machine's own addresses to exit addresses, less what is allowed", () => {
  apply({ exit_ips: [] });
  for (const to of own) expect([to, connect(exitTo(to), to)]).toEqual([to, 'hello']);
  apply({});
  for (const to of own) {
    expect([to, connect(exitTo(to), to)]).toEqual([to, expect.stringMatching(/^E[A-Z]+$/)]);
  }
  expect(connect(other4, '9.9.9.10')).toBe('hello');
  apply({ allowed: parseNetworks('9.9.9.0/24') });
  expect(connect(exit4, '9.9.9.10')).toBe('hello');
});

test('what the operator allows passes the firewall', () => {
  apply({});
  expect(connect(exit4, allowed)).toBe('hello');
  apply({ allowed: [] });
  expect(connect(exit4, allowed)).toMatch(/^E[A-Z]+$/);
});

test("IPv6 leaves the proxy's user only from an exit address", () => {
  apply({ proxy_user: undefined });
  expect(connect('2002:a09:909::1', '2620:fe:2::fe')).toBe('hello');
  apply({ proxy_user: 'root' });
  expect(connect('2002:a09:909::1', '2620:fe:2::fe')).toMatch(/^E[A-Z]+$/);
  expect(connect(exit6, '2620:fe:2::fe')).toBe('hello');
  apply({ proxy_user: 'root', exit_ips: [exit4] });
  expect(connect(exit6, '2620:fe:2::fe')).toMatch(/^E[A-Z]+$/);
});

test('the rules can be applied again, and taken away', () => {
  apply({});
  apply({ exit_ips: [] });
  expect(connect(exit4, '10.9.9.9')).toBe('hello');
});

describe('a firewall that is kept', () => {
  const programs = mkdtempSync(join(tmpdir(), 'exitward-firewall-'));
  const { PATH } = process.env;
  /** The folder of the `nft` that the agent finds. */
  const setNft = (script: string) => putScript(join(programs, 'nft'), script);
  const nft = '/usr/sbin/nft';
  const real = `exec ip netns exec ${namespace} ${nft} "$@"`;
  const listing = () => inside(nft, '--stateless', 'list', 'ruleset');
  const edit = (rules: string) => inside(nft, rules);
  let firewall: Firewall;
  let whole: string;

  beforeAll(async () => {
    process.env.PATH = `${programs}:${PATH}`;
    setNft(real);
    edit('flush ruleset');
    firewall = new Firewall({ clock: systemClock, log: pino({ level: 'silent' }) });
    await firewall.apply(usual);
    whole = listing();
  });
  afterAll(() => {
    process.env.PATH = PATH;
    rmSync(programs, { recursive: true });
  });

  deepTest.each([
    ['all rules of the machine are flushed, as at a reload of nftables', 'flush ruleset'],
    ['its table is deleted', 'delete table inet exitward'],
    ['its rules are flushed', 'flush table inet exitward'],
    ['a chain has lost its rules', 'flush chain inet exitward output'],
    ['a network is taken out', 'delete element inet exitward refused4 { 10.0.0.0/8 }'],
    ['an exit is taken out', `delete element inet exitward exits4 { ${exit4} }`],
    ['a rule before all others lets everything pass', 'insert rule inet exitward output accept'],
  ])('is put back when %s', async (_, rules) => {
    edit(rules);
    expect(listing()).not.toBe(whole);
    await firewall.look();
    expect(listing()).toBe(whole);
    expect(firewall.faults()).toEqual([]);
  });

  deepTest(
    'leaves the rules of others alone, and its own if nothing has changed them',
    async () => {
      edit('add table ip other; add counter ip other own { packets 7 bytes 8; }');
      connect(exit4, '10.9.9.9');
      const list = () => inside(nft, 'list', 'table', 'inet', 'exitward');
      const counted = list();
      expect(counted).toMatch(/packets [1-9]/);
      await firewall.look();
      expect(list()).toBe(counted);
      edit('flush table inet exitward');
      await firewall.look();
      expect(inside(nft, 'list', 'counters')).toContain('packets 7 bytes 8');
      edit('delete table ip other');
    },
  );

  deepTest(
    'is put back when another program flushes all rules as soon as they are in force',
    async () => {
      setNft(
        `${real.replace('exec ', '')} && if [ "$1" = -f ]; then ip netns exec ${namespace} ${nft} flush ruleset; fi`,
      );
      edit('flush ruleset');
      await firewall.look();
      expect(listing()).toBe('');
      setNft(real);
      await firewall.look();
      expect(listing()).toBe(whole);
    },
  );

  deepTest('that cannot be put back is a fault, until it can', async () => {
    edit('flush ruleset');
    setNft('echo Operation not permitted >&2; exit 1');
    await firewall.look();
    const message = 'The guard is not in the kernel: nft: Operation not permitted.';
    expect(firewall.faults()).toEqual([{ kind: 'firewall', message }]);
    setNft(real);
    await firewall.look();
    expect(firewall.faults()).toEqual([]);
    expect(listing()).toBe(whole);
  });

  deepTest(
    'follows the exits, also to none; an agent without a policy changes nothing',
    async () => {
      const next = new Firewall({ clock: systemClock, log: pino({ level: 'silent' }) });
      await next.apply({ ...usual, exit_ips: [] });
      await next.look();
      expect(listing()).toBe(whole);
      await firewall.apply({ ...usual, exit_ips: [exit4] });
      expect(listing()).toContain(exit4);
      expect(listing()).not.toContain(exit6);
      await firewall.apply({ ...usual, exit_ips: [] });
      expect(listing()).not.toContain(exit4);
    },
  );

  test('is put back by a running agent', async () => {
    const control = await ScriptedControl.start();
    control.records = listed(4_000_000_000);
    const state_dir = join(programs, 'state');
    await joinNetwork({ state_dir, url: control.url, code: 'ewi_x', name: 'a', again: false });
    const config = readConfig({
      EXITWARD_AGENT_STATE_DIR: state_dir,
      EXITWARD_AGENT_ENGINE: 'embedded',
      EXITWARD_AGENT_GUARD: 'nftables',
      EXITWARD_AGENT_METRICS_LISTEN: 'off',
    });
    const agent = await runAgent(config, {
      clock: briskClock(),
      log: pino({ level: 'silent' }),
      startEngine: async ({ dir, rules, clock }) => new FakeEngine(dir, () => clock.now(), rules),
    });
    try {
      const isGuarded = () => listing().includes(`elements = { ${exit4} }`);
      await until(isGuarded);
      edit('flush ruleset');
      await until(isGuarded);
      setNft('exit 1');
      edit('flush ruleset');
      await until(() => agent.status().faults.some(({ kind }) => kind === 'firewall'));
    } finally {
      await agent.stop();
      await control.stop();
    }
  });
});
