// `npm start` as a newcomer sees it: the demo's server and node in one process, used as its own introduction says.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { request } from 'node:http';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

const root = join(import.meta.dirname, '..');

interface Facts {
  base_url: string;
  accounts: Array<{ name: string; api_token: string; servers: string[] }>;
  proxy: { server: string; host: string; port: number; override_port: number; origin: string };
}

/** The demo as a process, with what it printed. */
class Demo {
  readonly child: ChildProcess;
  out = '';
  err = '';

  constructor(data_dir: string, port_base: string) {
    this.child = spawn(process.execPath, ['demo/start.ts'], {
      cwd: root,
      env: {
        PATH: process.env.PATH,
        EXITWARD_DATA_DIR: data_dir,
        EXITWARD_DEMO_PORT_BASE: port_base,
        EXITWARD_LISTEN: '127.0.0.1:0',
        EXITWARD_ADMIN_LISTEN: '127.0.0.1:0',
        EXITWARD_METRICS_LISTEN: 'off',
      },
    });
    this.child.stdout?.on('data', (text) => {
      this.out += text;
    });
    this.child.stderr?.on('data', (text) => {
      this.err += text;
    });
  }
  async ready(): Promise<void> {
    while (!this.out.includes('Stop with Ctrl-C')) {
      if (this.child.exitCode !== null) throw new Error(this.out + this.err);
      await Promise.race([once(this.child.stdout as never, 'data'), once(this.child, 'exit')]);
    }
  }
  async stop(): Promise<number | null> {
    if (this.child.exitCode === null) {
      this.child.kill('SIGTERM');
      await once(this.child, 'exit');
    }
    return this.child.exitCode;
  }
}

let data_dir: string;
let demo: Demo | undefined;

beforeEach(() => {
  data_dir = mkdtempSync(join(tmpdir(), 'exitward-demo-'));
});
afterEach(async () => {
  await demo?.stop();
  rmSync(data_dir, { recursive: true, force: true });
});

async function start(port_base: number): Promise<Facts> {
  demo = new Demo(data_dir, String(port_base));
  await demo.ready();
  return JSON.parse(readFileSync(join(data_dir, 'demo.json'), 'utf8')) as Facts;
}

/** A port base that the demo can have, below the ports that the system gives away. */
const randomBase = () => 21_000 + Math.floor(Math.random() * 16) * 600;

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

/** A page through the proxy. */
async function page(
  { host, port }: { host: string; port: number },
  url: string,
  credentials?: string,
): Promise<{ status: number | undefined; reason: string | undefined; text: string }> {
  const headers = credentials && {
    'proxy-authorization': `Basic ${Buffer.from(credentials).toString('base64')}`,
  };
  const sent = request({ host, port, path: url, headers: { host: new URL(url).host, ...headers } });
  sent.end();
  const [response] = await once(sent, 'response');
  let text = '';
  for await (const chunk of response) text += chunk;
  return { status: response.statusCode, reason: response.headers['x-exitward-reason'], text };
}

const inAnHour = () => Math.floor(Date.now() / 1000) + 3600;

describe('npm start', () => {
  test('a newcomer lists the own address, overrides a hostname and uses a token, on the proxy of this machine', async () => {
    const base = randomBase();
    const facts = await start(base);
    const { proxy } = facts;
    expect(proxy).toEqual({
      server: 'here',
      host: '127.0.0.1',
      port: base,
      override_port: base + 500,
      origin: `http://127.0.0.1:${base + 80}`,
    });
    expect(statSync(join(data_dir, 'demo.json')).mode & 0o777).toBe(0o600);
    expect(demo?.err).toBe('');
    const origin = `${proxy.origin}/`;

    expect(await page(proxy, origin)).toMatchObject({ status: 407, reason: 'unknown_address' });
    await api(facts, '/contract/ip-authlist', { user: 'proxy', expiry: inAnHour() });
    await expect.poll(async () => (await page(proxy, origin)).status).toBe(200);

    const shop = `http://shop.example.com:${base + 80}/`;
    const entry = await api(facts, '/contract/overrides', {
      server: proxy.server,
      hostname: 'shop.example.com',
      ip: '127.0.0.1',
      expiry: inAnHour(),
    });
    expect(entry.status).toBe('pending');
    const overridden = { host: proxy.host, port: proxy.override_port };
    await expect.poll(async () => (await page(overridden, shop)).text).toContain(shop);
    expect((await page(proxy, shop)).status).toBe(502);
    await expect
      .poll(async () => (await api(facts, `/contract/overrides/${entry.id}`)).status)
      .toBe('active');

    const { token } = await api(facts, '/users/token', { user: 'proxy' });
    expect(await page(proxy, origin, `proxy:${token}`)).toMatchObject({ status: 200 });
    expect(await page(proxy, origin, `proxy:${token}x`)).toMatchObject({ reason: 'bad_token' });

    await expect
      .poll(
        async () => {
          const [server] = await api(facts, `/contract/servers?detail=usage&server=here`);
          return server.usage.current;
        },
        { timeout: 10_000 },
      )
      .toBeGreaterThan(500);
    expect(await demo?.stop()).toBe(0);
  });

  test('what was listed holds after a restart, without joining again', async () => {
    const base = randomBase();
    const first = await start(base);
    await api(first, '/contract/ip-authlist', { user: 'proxy', expiry: inAnHour() });
    await demo?.stop();
    const second = await start(base);
    expect(second.accounts[0]?.api_token).toBe(first.accounts[0]?.api_token);
    await expect.poll(async () => (await page(second.proxy, second.proxy.origin)).status).toBe(200);
  });

  describe('with a port that is taken', () => {
    let taken: Server;
    afterEach(() => void taken.close());

    test('says which, and runs the server all the same', async () => {
      const base = randomBase();
      taken = createServer().listen(base, '127.0.0.1');
      await once(taken, 'listening');
      const facts = await start(base);
      await expect.poll(() => demo?.err).toContain(String(base));
      expect(demo?.err).toContain('another program has it');
      expect(demo?.err).toContain('EXITWARD_DEMO_PORT_BASE');
      expect((await api(facts, '/contract/servers')).length).toBeGreaterThan(5);
    });
  });

  test('a port base that is none is refused at once', async () => {
    for (const wrong of ['80', '70000', '1e4', 'x']) {
      demo = new Demo(data_dir, wrong);
      await once(demo.child, 'exit');
      expect(demo.child.exitCode).toBe(1);
      expect(demo.err).toContain(`EXITWARD_DEMO_PORT_BASE: "${wrong}" is not valid`);
    }
  });
});
