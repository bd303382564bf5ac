// exw run and exw authlist watch: access for as long as it is used, with a real proxy and a
// changing address.
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { planNodes } from '../../demo/joining.ts';
import { type DemoNode, startNode } from '../../demo/node.ts';
import type { BuiltAccount } from '../../server/test/builders.ts';
import { startTestApp, type TestApp } from '../../server/test/harness.ts';
import { deepTest, drawn } from '../../test/deep_test.ts';
import { effort } from '../../test/effort.ts';
import { CommandLine, type Started } from './cli_process.ts';

const folder = mkdtempSync(join(tmpdir(), 'exitward-run-'));
let t: TestApp;
let acme: BuiltAccount;
let exw: CommandLine;
let keepingTime: NodeJS.Timeout;
/** The clock of the service stands still, so no entry expires. */
let isClockStopped = false;

const now = () => Math.floor(Date.now() / 1000);
const listed = async () =>
  (await t.as(acme).get('/contract/ip-authlist')).body as Array<{
    id: number;
    ip: string;
    expiry: number;
  }>;

beforeAll(async () => {
  t = await startTestApp(`sqlite:${join(folder, 'exitward.db')}`, {
    EXITWARD_TRUSTED_PROXIES: '127.0.0.1/32',
  });
  t.clock.seconds = now();
  // exw reads the real time.
  keepingTime = setInterval(() => {
    if (!isClockStopped) t.clock.seconds = now();
  }, 100);
  acme = await t.account('acme');
  exw = CommandLine.of(t.base_url, acme.api_token);
});
afterAll(async () => {
  clearInterval(keepingTime);
  exw?.clean();
  await t?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const started: Started[] = [];
afterEach(async () => {
  isClockStopped = false;
  for (const { child } of started.splice(0)) if (child.exitCode === null) child.kill('SIGKILL');
  await t.as(acme).delete('/contract/ip-authlist');
});
function start(...args: string[]): Started {
  const run = exw.start(...args);
  started.push(run);
  return run;
}

describe('run, behind the proxy of a real node', () => {
  let node: DemoNode;
  let proxy: string[];

  beforeAll(async () => {
    // Below the ports that the system gives away, and beside those of the demo's own test.
    const base = 12_000 + Math.floor(Math.random() * 12) * 600;
    const settings = { port_base: base, isSimulating: false };
    node = await startNode(await planNodes(t.running, settings));
    expect(node.faults).toEqual([]);
    // Its port base is 0, and its hostname is made up.
    proxy = ['--server', 'aar1', '--host', '127.0.0.1', '--base-port', String(base)];
  });
  afterAll(() => node?.stop());

  const curl = (...more: string[]) => [...more, '--', 'curl', '-sS'];

  test('a page comes through the proxy, for an address that is listed as long as that takes', async () => {
    const page = await exw.run('run', ...proxy, ...curl(), node.proxy.origin);
    expect(page).toMatchObject({ code: 0, stderr: '' });
    expect(page.stdout).toContain('came from 127.0.0.1, the exit IP.');
    expect(await listed()).toEqual([]);
    // The control: without exw, the proxy refuses.
    const plain = await exw.run(
      ...['run', '--token', ...proxy, '--', 'sh', '-c'],
      `curl -sS --noproxy '' -x 127.0.0.1:${node.proxy.port} ${node.proxy.origin}`,
    );
    expect(plain.stdout).toContain('unknown_address');
  });

  deepTest('with --token the password is in the URL, and no address is listed', async () => {
    const script = `[ "$http_proxy" = "$HTTPS_PROXY" ] && echo "$ALL_PROXY" && curl -sS ${node.proxy.origin}`;
    const args = ['run', '--token', ...proxy, '--', 'sh', '-c', script];
    const running = start(...args);
    const { code, stdout, stderr } = await running.ended();
    expect(code, stderr).toBe(0);
    const [url, page] = stdout.split('\n');
    expect(url).toMatch(/^http:\/\/alice:ewt_[^@]+@127\.0\.0\.1:\d+$/);
    expect(page).toBe("This is the demo's origin.");
  });

  deepTest('with --override custom DNS entries hold', async () => {
    const shop = `http://shop.example.com:${new URL(node.proxy.origin).port}/`;
    const added = await exw.run(
      'dns',
      'add',
      'aar1',
      'shop.example.com',
      '127.0.0.1',
      '--wait',
      '10s',
    );
    expect(added.stderr).toContain(': active.');
    const page = await exw.run('run', ...proxy, ...curl('--override'), shop);
    expect(page.stdout).toContain(`You asked for ${shop}`);
    // By the name servers of this machine, if it has any.
    const { stdout } = await exw.run('run', ...proxy, ...curl(), shop);
    expect(stdout).toMatch(/\((unresolved|no_name_server)\)/);
  });

  deepTest('what the environment said of proxies before is replaced', async () => {
    const { env } = exw;
    const before = new CommandLine({ ...env, NO_PROXY: '*', HTTP_PROXY: 'http://old.example' });
    const { stdout } = await before.run('run', ...proxy, '--', 'sh', '-c', 'env | grep -i proxy=');
    before.clean();
    const url = `http://127.0.0.1:${node.proxy.port}`;
    expect(stdout.trim().split('\n').sort()).toEqual([
      `ALL_PROXY=${url}`,
      `HTTPS_PROXY=${url}`,
      `HTTP_PROXY=${url}`,
      'NO_PROXY=',
      `all_proxy=${url}`,
      `http_proxy=${url}`,
      `https_proxy=${url}`,
      'no_proxy=',
    ]);
  });

  test.each(
    drawn([
      ['its exit code', ['sh', '-c', 'exit 7'], 7],
      ['the signal that killed it', ['sh', '-c', 'kill -KILL $$'], 137],
      ['that there is no such command', ['/nonexistent/command'], 127],
      ['that it cannot be run', ['/etc/passwd'], 126],
    ]),
  )('the exit code says %s, and the address is off the list', async (_, words, expected) => {
    const { code, stderr } = await exw.run('run', ...proxy, '--', ...words);
    expect(code, stderr).toBe(expected);
    expect(await listed()).toEqual([]);
  });

  // Ctrl-C is pressed in a terminal for each submission.
  const more = effort === 'deep' ? (['SIGINT', 'SIGUSR1'] as const) : [];
  deepTest.each(['SIGTERM', 'SIGHUP', ...more] as const)(
    '%s is passed to the command, whose end is waited for',
    async (name) => {
      const script = `trap 'echo heard; sleep 0.2; exit 3' ${name.slice(3)}; echo ready; while :; do sleep 0.05; done`;
      const running = start('run', ...proxy, '--', 'sh', '-c', script);
      await expect.poll(() => running.stdout, { timeout: 30_000 }).toBe('ready\n');
      expect(await listed()).toHaveLength(1);
      running.child.kill(name);
      expect(await running.ended()).toMatchObject({ code: 3, stdout: 'ready\nheard\n' });
      expect(await listed()).toEqual([]);
    },
  );

  test('an exit that there is not is refused before anything is listed', async () => {
    const { code, stderr } = await exw.run('run', '--exit', '192.0.2.9', '--', 'true');
    expect([code, stderr]).toEqual([1, 'exw: The contract has no 192.0.2.9.\n']);
  });
});

describe('authlist watch', () => {
  let relay: Server;
  /** Where the service sees us. */
  let seen: string;
  let watching: string[];

  beforeEach(async () => {
    seen = '203.0.113.1';
    relay = createServer((incoming, outgoing) => {
      const { method, url } = incoming;
      const headers = { ...incoming.headers, 'x-forwarded-for': seen };
      const sent = request(new URL(url ?? '/', t.base_url), { method, headers }, (answer) => {
        outgoing.writeHead(answer.statusCode ?? 500, answer.headers);
        answer.pipe(outgoing);
      });
      incoming.pipe(sent);
    }).listen(0, '127.0.0.1');
    await once(relay, 'listening');
    const { port } = relay.address() as AddressInfo;
    const url = `http://127.0.0.1:${port}`;
    watching = ['authlist', 'watch', '--url', url, '--every', '1s', '--user', 'alice'];
  });
  afterEach(() => {
    relay.closeAllConnections();
    relay.close();
  });

  const addresses = async () => (await listed()).map(({ ip }) => ip);

  test('lists the address, follows it when it changes, and takes it off at its end', async () => {
    isClockStopped = true;
    const running = start(...watching, '--json');
    await expect.poll(addresses, { timeout: 30_000 }).toEqual(['203.0.113.1']);
    seen = '203.0.113.2';
    await expect.poll(addresses, { timeout: 30_000 }).toEqual(['203.0.113.2']);
    running.child.kill('SIGTERM');
    const { code, stdout, stderr } = await running.ended();
    expect(code, stderr).toBe(0);
    const lines = stdout.trim().split('\n');
    expect(lines.map((line) => JSON.parse(line).ip)).toEqual(['203.0.113.1', '203.0.113.2']);
    expect(await listed()).toEqual([]);
  });

  deepTest(
    'renews an entry that soon ends; killed, it leaves one that ends by itself',
    async () => {
      const running = start(...watching);
      await expect.poll(addresses, { timeout: 30_000 }).toEqual(['203.0.113.1']);
      const [first] = await listed();
      expect((first?.expiry ?? 0) - now()).toBeLessThanOrEqual(5);
      await expect
        .poll(async () => (await listed())[0]?.expiry, { timeout: 30_000 })
        .toBeGreaterThan(first?.expiry ?? 0);
      expect((await listed())[0]?.id).toBe(first?.id);
      running.child.kill('SIGKILL');
      await running.ended();
      await expect.poll(listed, { timeout: 30_000 }).toEqual([]);
    },
  );

  /**
   * More than enough for the command to start and to list an address, on this machine as busy as it
   * is now.
   */
  const secondsToStart = async () => {
    const begun = performance.now();
    await start('--version').ended();
    return Math.ceil(3 + (8 * (performance.now() - begun)) / 1000);
  };

  deepTest('ends by --expiry, and no entry lives longer', async () => {
    const end = (await secondsToStart()) + now();
    const running = start(...watching, '--expiry', String(end));
    await expect.poll(addresses, { timeout: 30_000 }).toEqual(['203.0.113.1']);
    expect((await listed())[0]?.expiry).toBeLessThanOrEqual(end);
    expect((await running.ended()).code).toBe(0);
    expect(await listed()).toEqual([]);
  });

  deepTest(
    "leaves another's entry as it is, and lists the address once that has ended",
    async () => {
      const body = { ip: seen, user: 'alice', expiry: (await secondsToStart()) + now() };
      const { id } = (await t.as(acme).post('/contract/ip-authlist', body)).body;
      const running = start(...watching);
      await expect.poll(() => running.stderr, { timeout: 30_000 }).toContain('is not changed');
      expect((await listed()).map((entry) => [entry.id, entry.expiry])).toEqual([
        [id, body.expiry],
      ]);
      await expect
        .poll(async () => (await listed()).filter((entry) => entry.id !== id), { timeout: 30_000 })
        .toHaveLength(1);
      running.child.kill('SIGINT');
      expect((await running.ended()).code).toBe(0);
    },
  );

  deepTest("goes to another's entry and takes its own off", async () => {
    isClockStopped = true;
    const running = start(...watching);
    await expect.poll(addresses, { timeout: 30_000 }).toEqual(['203.0.113.1']);
    const office = { ip: '203.0.113.9', user: 'alice', expiry: now() + 3600 };
    await t.as(acme).post('/contract/ip-authlist', office);
    seen = office.ip;
    await expect.poll(addresses, { timeout: 30_000 }).toEqual(['203.0.113.9']);
    running.child.kill('SIGTERM');
    await running.ended();
    expect(await addresses()).toEqual(['203.0.113.9']);
  });

  deepTest('leaves the address to the one who takes its entry over', async () => {
    const running = start(...watching);
    await expect.poll(addresses, { timeout: 30_000 }).toEqual(['203.0.113.1']);
    const [own] = await listed();
    await t.as(acme).delete(`/contract/ip-authlist/${own?.id}`);
    const body = { ip: seen, user: 'alice', expiry: now() + 3600 };
    expect((await t.as(acme).post('/contract/ip-authlist', body)).status).toBe(201);
    await expect.poll(() => running.stderr, { timeout: 30_000 }).toContain('is not changed');
    running.child.kill('SIGTERM');
    expect((await running.ended()).code).toBe(0);
    expect((await listed()).map(({ expiry }) => expiry)).toEqual([body.expiry]);
  });

  deepTest(
    'lists the address again when somebody removes it, and outlives a service that is away',
    async () => {
      const running = start(...watching);
      await expect.poll(addresses, { timeout: 30_000 }).toEqual(['203.0.113.1']);
      await t.as(acme).delete('/contract/ip-authlist');
      await expect.poll(addresses, { timeout: 30_000 }).toEqual(['203.0.113.1']);
      const { port } = relay.address() as AddressInfo;
      relay.closeAllConnections();
      relay.close();
      await expect.poll(() => running.stderr, { timeout: 30_000 }).toContain('Trying again.');
      seen = '203.0.113.3';
      relay.listen(port, '127.0.0.1');
      await expect.poll(addresses, { timeout: 30_000 }).toContain('203.0.113.3');
    },
  );

  test('a user who is not on the account ends it at once', async () => {
    const { code, stderr } = await start(...watching.slice(0, -1), 'nobody').ended();
    const refusal =
      /^exw: --user: "nobody" is not part of the account; no entry for \S+ was made\.\n$/;
    expect([code, stderr]).toEqual([1, expect.stringMatching(refusal)]);
  });
});
