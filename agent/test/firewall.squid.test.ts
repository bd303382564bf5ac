// The nftables firewall, in network namespaces of its own: real sockets from exit addresses to
// private ones, and to others.
import { execFileSync, spawn } from 'node:child_process';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parseNetworks } from '../../kit/src/address.ts';
import { type FirewallOptions, firewallRules } from '../src/firewall.ts';

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
const apply = (options: Partial<FirewallOptions>) => {
  const rules = firewallRules({
    exit_ips: [exit4, exit6],
    allowed: parseNetworks(`${allowed}/32`),
    proxy_user: undefined,
    ...options,
  });
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
