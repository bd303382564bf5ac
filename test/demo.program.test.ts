// `npm start` as a newcomer sees it: the demo's server and node in one process, used as its own
// introduction says.
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { exw } from '../client/src/cli/commands.ts';
import { commandsOf } from '../kit/src/cli/command.ts';
import { bareEnvironment } from './bare_environment.ts';
import { deepTest } from './deep_test.ts';
import { Demo, type Facts, freeBase, throughProxy as page } from './demo_process.ts';

const dataDir = mkdtempSync(join(tmpdir(), 'exitward-demo-'));
let demo: Demo | undefined;

afterAll(async () => {
  await demo?.stop();
  rmSync(dataDir, { recursive: true, force: true });
});

async function start(port_base: number): Promise<Facts> {
  demo = new Demo(dataDir, String(port_base));
  return demo.ready();
}

async function api({ base_url, accounts }: Facts, path: string, body?: unknown) {
  const token = accounts[0]?.api_token ?? '';
  const response = await fetch(`${base_url}/v0${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: {
      authorization: `Basic ${Buffer.from(`:${token}`).toString('base64')}`,
      'content-type': 'application/json',
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  // biome-ignore lint/suspicious/noExplicitAny: answers of several shapes
  return (await response.json()) as any;
}

/** Other tests have the processors, too. */
const patience = { timeout: 100_000 };
const inAnHour = () => Math.floor(Date.now() / 1000) + 3600;

describe('npm start', () => {
  let base: number;
  let facts: Facts;
  beforeAll(async () => {
    base = await freeBase();
    facts = await start(base);
  });

  test('a newcomer lists the own address, overrides a hostname and uses a token, on the proxy of this machine', async () => {
    const { proxy } = facts;
    expect(proxy).toEqual({
      server: 'aar1',
      host: '127.0.0.1',
      port: base,
      override_port: base + 500,
      origin: `http://127.0.0.1:${base + 80}`,
    });
    expect(statSync(join(dataDir, 'demo.json')).mode & 0o777).toBe(0o600);
    expect(demo?.err).toBe('');
    const origin = `${proxy.origin}/`;

    const direct = await (await fetch(origin)).text();
    expect(direct).toContain('came from 127.0.0.1, not through the proxy.');
    expect(await page(proxy, origin)).toMatchObject({ status: 407, reason: 'unknown_address' });
    await api(facts, '/contract/ip-authlist', { user: 'proxy', expiry: inAnHour() });
    await expect.poll(async () => (await page(proxy, origin)).status, patience).toBe(200);

    const shop = `http://shop.example.com:${base + 80}/`;
    const entry = await api(facts, '/contract/overrides', {
      server: proxy.server,
      hostname: 'shop.example.com',
      ip: '127.0.0.1',
      expiry: inAnHour(),
    });
    expect(entry.status).toBe('pending');
    const overridden = { host: proxy.host, port: proxy.override_port };
    await expect.poll(async () => (await page(overridden, shop)).text, patience).toContain(shop);
    // Outside of the overrides it has no address: 503 where no name server answers.
    expect([502, 503]).toContain((await page(proxy, shop)).status);
    await expect
      .poll(async () => (await api(facts, `/contract/overrides/${entry.id}`)).status, patience)
      .toBe('active');

    const { token } = await api(facts, '/users/token', { user: 'proxy' });
    expect(await page(proxy, origin, `proxy:${token}`)).toMatchObject({
      status: 200,
      text: expect.stringContaining('came from 127.0.0.1, the exit IP.'),
    });
    expect(await page(proxy, origin, `proxy:${token}x`)).toMatchObject({ reason: 'bad_token' });

    await expect
      .poll(async () => {
        const [server] = await api(facts, `/contract/servers?detail=usage&server=aar1`);
        return server.usage.current;
      }, patience)
      .toBeGreaterThan(500);
  });

  test('a connection that lasts is shown to the operator, who ends it', async () => {
    const { proxy, admin_url, admin_token } = facts;
    const admin = async (path: string, body?: object) => {
      const response = await fetch(`${admin_url}/admin${path}`, {
        headers: { authorization: `Bearer ${admin_token}`, 'content-type': 'application/json' },
        ...(body && { method: 'POST', body: JSON.stringify(body) }),
      });
      // biome-ignore lint/suspicious/noExplicitAny: answers of several shapes
      return (await response.json()) as any;
    };
    const lasting = page(proxy, `${proxy.origin}/slow`);
    const cut = expect(lasting).rejects.toThrow('aborted');
    await expect
      .poll(async () => (await admin('/connections?account=acme')).connections, patience)
      .toMatchObject([{ user: 'proxy', server: proxy.server, connections: 1 }]);
    expect(await admin('/connections/end', { account: 'acme' })).toMatchObject({ ended: 1 });
    await cut;
  });

  test('the link that it prints signs in to the console, once', async () => {
    const { base_url, console: entry } = facts;
    expect(entry).toMatchObject({ account: 'acme', user: 'proxy-billing-admin' });
    expect(demo?.out).toContain(entry.link);
    const [before, code] = entry.link.split('/#/enter/');
    expect(before).toBe(base_url);
    const enter = () =>
      fetch(`${base_url}/console/session/link`, {
        method: 'POST',
        headers: { origin: base_url, 'content-type': 'application/json' },
        body: JSON.stringify({ code }),
      });
    const entered = await enter();
    expect(entered.status).toBe(201);
    expect(await entered.json()).toMatchObject({ account: 'acme', user: { name: entry.user } });
    expect((await enter()).status).toBe(401);
  });

  test('the commands that it prints work as they stand', async () => {
    const lines = (demo?.out ?? '')
      .split('\n')
      .filter((line) => /^ {2}.*(export PATH=| exw status$| exitward account list$)/.test(line));
    expect(lines.length).toBe(3);
    const run = promisify(execFile);
    const elsewhere = { cwd: tmpdir(), env: bareEnvironment };
    const { stdout } = await run('sh', ['-ec', lines.join('\n')], elsewhere);
    expect(stdout).toContain('acme');
    expect(stdout).toContain('globex');
  });

  test('the examples of exw name servers and users that its account has', () => {
    const { servers = [], users = [] } = facts.accounts[0] ?? {};
    const proxyUsers = users.filter(({ active, flags }) => active && flags.proxy);
    const documents = ['docs/exw.md', 'client/README.md']
      .map((path) => readFileSync(join(import.meta.dirname, '..', path), 'utf8'))
      .flatMap((text) => text.match(/^(?:\$ | +→ )?exw .*$/gm) ?? [])
      .map((line) => line.replace(/^[$→ ]+/, ''));
    const examples = [
      ...commandsOf(exw({})).flatMap(({ examples = [] }) => examples),
      ...documents,
    ];
    expect(examples.length).toBeGreaterThan(25);
    for (const example of examples) {
      const own = example.split(' -- ')[0] ?? '';
      for (const name of own.match(/\b[a-z]{3}\d\b/g) ?? []) expect(servers).toContain(name);
      const [, user] = /--user (\S+)/.exec(own) ?? [];
      // With several proxy users in the account, these commands need one.
      const isNamed = /^exw (run|authlist (add|watch)|token|vpn)\b/.test(own);
      expect([example, user]).toEqual([example, isNamed ? expect.any(String) : user]);
      if (user) expect(proxyUsers.map(({ name }) => name)).toContain(user);
    }
  });

  deepTest('what was listed holds after a restart, without joining again', async () => {
    expect(await demo?.stop()).toBe(0);
    const second = await start(base);
    expect(second.accounts[0]?.api_token).toBe(facts.accounts[0]?.api_token);
    await expect
      .poll(async () => (await page(second.proxy, second.proxy.origin)).status, patience)
      .toBe(200);
  });

  deepTest(
    'when ports are in use, it names all of them and a base at which the whole demo runs',
    async () => {
      await demo?.stop();
      const [account, metrics] = [base + 580, base + 590];
      const occupied = [base, base + 80, account, metrics].map((port) =>
        createServer().listen(port, '127.0.0.1'),
      );
      await Promise.all(occupied.map((server) => once(server, 'listening')));
      const listen = [`127.0.0.1:${account}`, '127.0.0.1:0', `127.0.0.1:${metrics}`] as const;
      demo = new Demo(dataDir, String(base), [...listen]);
      await once(demo.child, 'exit');
      const inUse = [
        ...[`${account} (account API and console)`, `${metrics} (metrics)`],
        ...[`${base} (proxy)`, `${base + 80} (the demo's web page)`],
      ];
      expect(demo.err).toContain(
        `These ports are in use: ${inUse.join(', ')}. To run the whole demo on others:`,
      );
      const free = Number(/EXITWARD_DEMO_PORT_BASE=(\d+) npm start/.exec(demo.err)?.[1]);
      expect(free).toBeGreaterThan(base);
      for (const server of occupied) server.close();
      const others = await start(free);
      expect(others.proxy.port).toBe(free);
      expect((await api(others, '/contract/servers')).length).toBeGreaterThan(5);
    },
  );

  test('with a connection log, the node of this machine says who used its exit; a wrong setting of it is refused at once', async () => {
    await demo?.stop();
    const startWith = (settings: Record<string, string>) => {
      demo = new Demo(dataDir, String(base), undefined, undefined, settings);
      return demo;
    };
    const wrong = startWith({ EXITWARD_AGENT_CONNECTION_LOG_DAYS: '400' });
    await once(wrong.child, 'exit');
    expect(wrong.err).toContain('EXITWARD_AGENT_CONNECTION_LOG_DAYS: "400" is not valid');
    const logging = startWith({ EXITWARD_AGENT_CONNECTION_LOG: 'sources' });
    const own = await logging.ready();
    expect(own.proxy.connection_log).toBe('sources');
    expect(logging.out).toContain('connection find --exit 127.0.0.1');
    await api(own, '/contract/ip-authlist', { user: 'proxy', expiry: inAnHour() });
    const origin = `${own.proxy.origin}/`;
    await expect.poll(async () => (await page(own.proxy, origin)).status, patience).toBe(200);
    const admin = async (token: string, path: string, body: object) => {
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
      const request = { method: 'POST', headers, body: JSON.stringify(body) };
      // biome-ignore lint/suspicious/noExplicitAny: answers of several shapes
      return (await (await fetch(`${own.admin_url}/admin${path}`, request)).json()) as any;
    };
    const right = { name: `abuse-desk-${base}`, may_find_connections: true };
    const { admin_token } = await admin(own.admin_token, '/tokens', right);
    const question = { exit_ip: own.proxy.host, reason: 'a try' };
    const find = async () => {
      const at = Math.floor(Date.now() / 1000);
      return (await admin(admin_token, '/connections/find', { ...question, at })).uses;
    };
    const of = { user: 'proxy', address: '127.0.0.1' };
    await expect.poll(find, patience).toContainEqual(expect.objectContaining(of));
  });

  deepTest('a port base that is none is refused at once', async () => {
    await demo?.stop();
    for (const wrong of ['80', '70000', '1e4', 'x']) {
      demo = new Demo(dataDir, wrong);
      await once(demo.child, 'exit');
      expect(demo.child.exitCode).toBe(1);
      expect(demo.err).toContain(`EXITWARD_DEMO_PORT_BASE: "${wrong}" is not valid`);
    }
  });
});
