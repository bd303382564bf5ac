// Health: exits are checked with real sockets, a scripted proxy and an echo. Their status follows a
// table.
import { once } from 'node:events';
import { createServer, request, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, connect } from 'node:net';
import type { Duplex } from 'node:stream';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { ExitHealth, HealthReport } from '../../kit/src/node_interface.ts';
import { newCertificate } from '../../server/test/certificate.ts';
import { type Clock, systemClock } from '../src/clock.ts';
import { ControlError } from '../src/control_error.ts';
import type { VpnOffer } from '../src/engine.ts';
import { destinationOf } from '../src/health/echo.ts';
import { HealthChecks, type HealthOptions } from '../src/health/health.ts';
import { evaluate, type Outcome } from '../src/health/status.ts';
import { probeUser } from '../src/policy/decide.ts';
import type { Listener } from '../src/policy/policy.ts';
import { briskClock } from './brisk_clock.ts';

describe('the status of an exit', () => {
  const outcomes: Record<string, Outcome> = { r: 'right', s: 'slow', w: 'wrong', f: 'failed' };
  test.each([
    ['', 'unknown', 'nothing was seen'],
    ['r', 'ok', 'the right address, in time'],
    ['s', 'warn', 'slow'],
    ['rrs', 'warn', 'slow now'],
    ['ssssr', 'ok', 'slow before'],
    ['f', 'warn', 'one failure is no proof'],
    ['ff', 'warn', 'nor are two'],
    ['fff', 'crit', 'three in a row'],
    ['rfff', 'crit', 'three in a row after a success'],
    ['ffrff', 'warn', 'four, but not in a row'],
    ['rffffffff', 'crit', 'many in a row'],
    ['w', 'crit', 'the wrong address, at once'],
    ['rrw', 'crit', 'the wrong address now'],
    ['wf', 'crit', 'a failure after a wrong address is no improvement'],
    ['rrfr', 'warn', 'flapping'],
    ['wr', 'warn', 'right after wrong'],
    ['frrrr', 'warn', 'a failure among the last five'],
    ['frrrrr', 'ok', 'a failure before the last five'],
    ['fffrrrrr', 'ok', 'well again'],
  ])('after %j is %s: %s', (letters, status) => {
    expect(evaluate([...letters].map((letter) => outcomes[letter] as Outcome))).toBe(status);
  });
});

// ---- The network: exits are loopback addresses, which a proxy can really dial from ----------

const password = 'probe-password';
const certificate = newCertificate('localhost');
const credentials = `Basic ${Buffer.from(`${probeUser}:${password}`).toString('base64')}`;

type Behaviour = 'good' | 'wrong' | 'refuse' | 'hang' | 'drop' | 'slow';

let servers: Server[];
const closing = new Set<Duplex>();

async function listen(server: Server): Promise<number> {
  servers.push(server);
  server.on('connection', (socket) => {
    closing.add(socket);
    socket.once('close', () => closing.delete(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

/** A proxy of one exit: it lets in only the node's own user, and dials from the exit's address. */
class ScriptedProxy {
  readonly ip: string;
  behaviour: Behaviour = 'good';
  port = 0;
  asked = 0;
  static busy = 0;
  static busiest = 0;

  constructor(ip: string) {
    this.ip = ip;
  }

  async start(tls: boolean): Promise<void> {
    const server = tls ? createTlsServer(certificate) : createServer();
    server.on('request', async (message, response) => {
      if (!(await this.#mayPass(message.headers['proxy-authorization'], message.socket))) {
        return response.writeHead(407, { 'X-Exitward-Reason': 'bad_token' }).end();
      }
      const { host } = message.headers;
      // Requests to a proxy have a target in absolute form.
      const onward = request(new URL(message.url ?? ''), {
        localAddress: this.#source,
        headers: { host },
        agent: false,
      });
      onward.on('error', () => response.writeHead(503).end());
      onward.on('response', (answer) => {
        response.writeHead(answer.statusCode ?? 0);
        answer.pipe(response);
      });
      onward.end();
    });
    server.on('connect', async (message, socket: Duplex, head) => {
      if (!(await this.#mayPass(message.headers['proxy-authorization'], socket))) {
        return socket.end('HTTP/1.1 407 Denied\r\nX-Exitward-Reason: bad_token\r\n\r\n');
      }
      const { hostname, port } = new URL(`tcp://${message.url}`);
      const host = hostname === 'localhost' ? '127.0.0.1' : hostname;
      const onward = connect({ host, port: Number(port), localAddress: this.#source });
      onward.on('connect', () => {
        socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
        onward.write(head);
        onward.pipe(socket).pipe(onward);
      });
      socket.on('error', () => onward.destroy());
      onward.on('error', () => socket.end('HTTP/1.1 503 Unavailable\r\n\r\n'));
    });
    this.port = await listen(server as Server);
  }

  get #source(): string {
    return this.behaviour === 'wrong' ? '127.0.0.99' : this.ip;
  }

  async #mayPass(given: string | undefined, socket: Duplex): Promise<boolean> {
    this.asked += 1;
    ScriptedProxy.busy += 1;
    ScriptedProxy.busiest = Math.max(ScriptedProxy.busiest, ScriptedProxy.busy);
    if (this.behaviour === 'drop') socket.destroy();
    if (this.behaviour === 'hang') await new Promise(() => {});
    await systemClock.sleep(this.behaviour === 'slow' ? 0.4 : 0.01);
    ScriptedProxy.busy -= 1;
    return this.behaviour !== 'refuse' && given === credentials;
  }
}

/** Answers its caller's address, or the answer that a test sets. */
class Echo {
  url = '';
  answer: ((address: string) => [number, string]) | undefined;

  async start(tls: boolean): Promise<void> {
    const server = tls ? createTlsServer(certificate) : createServer();
    server.on('request', (message, response) => {
      const address = message.socket.remoteAddress ?? '';
      const [status, text] = this.answer?.(address) ?? [200, JSON.stringify({ address })];
      response.writeHead(status).end(text);
    });
    const port = await listen(server as Server);
    this.url = tls ? `https://localhost:${port}/ip` : `http://127.0.0.1:${port}/ip`;
  }
}

let echo: Echo;
let proxies: ScriptedProxy[];
let reports: ExitHealth[][];
let lines: Array<{ msg: string; err?: { message: string } }>;
const never = new AbortController().signal;

/** One exit for each word; `tls`: its only listener has TLS. */
async function start(exits: number, { echoTls = false, tls = false } = {}): Promise<void> {
  await echo.start(echoTls);
  proxies = Array.from({ length: exits }, (_, index) => new ScriptedProxy(`127.0.0.${index + 2}`));
  for (const proxy of proxies) await proxy.start(tls);
}

function checksOf(options: Partial<HealthOptions> & { tls?: boolean } = {}): HealthChecks {
  const { tls = false, ...more } = options;
  const port_shift = 100;
  return new HealthChecks({
    vpn: () => undefined,
    listeners: () =>
      new Map(
        proxies.map(({ ip, port: real }): [number, Listener] => {
          const port = real - port_shift;
          return [port, { port, exit_ip: ip, scheme: 'default', override: false, tls }];
        }),
      ),
    control: { reportHealth: async ({ exit_ips }) => reports.push(exit_ips) },
    clock: systemClock,
    log: pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) }),
    echo_url: echo.url,
    probe_password: password,
    listen_host: undefined,
    port_shift,
    health_seconds: 0.01,
    ...more,
  });
}

/** In the order of the proxies; exits are reported in the order of their responses. */
const statuses = (checks: HealthChecks) => {
  const statusOf = new Map(checks.exits().map(({ ip, status }) => [ip, status]));
  return proxies.map(({ ip }) => statusOf.get(ip));
};
const behave = (...behaviours: Behaviour[]) => {
  for (const [index, behaviour] of behaviours.entries()) {
    (proxies[index] as ScriptedProxy).behaviour = behaviour;
  }
};

beforeEach(() => {
  servers = [];
  echo = new Echo();
  reports = [];
  lines = [];
  ScriptedProxy.busy = 0;
  ScriptedProxy.busiest = 0;
});
afterEach(async () => {
  for (const socket of closing) socket.destroy();
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
});

describe('a check', () => {
  test('goes through the exit’s own port, as the node’s own user, and believes the echo', async () => {
    await start(4);
    behave('good', 'wrong', 'refuse', 'drop');
    const checks = checksOf();
    await checks.checkAll(never);
    expect(statuses(checks)).toEqual(['ok', 'crit', 'warn', 'warn']);
    await checks.checkAll(never);
    await checks.checkAll(never);
    expect(statuses(checks)).toEqual(['ok', 'crit', 'crit', 'crit']);
    const reports = checks.faults();
    expect(reports.map(({ kind }) => kind)).toEqual(['exit', 'exit', 'exit']);
    expect(reports.map(({ message }) => message)).toContainEqual(
      expect.stringMatching(/^The exit \S+ fails: it shows the address \S+\.$/),
    );
    for (const { subject, message } of reports) {
      expect(message).toMatch(new RegExp(`^The exit ${subject} fails: [^\\n]{3,100}\\.$`));
    }
    behave('good', 'good', 'good', 'good');
    await checks.checkAll(never);
    expect(statuses(checks)).toEqual(['ok', 'warn', 'warn', 'warn']);
    for (let round = 0; round < 4; round += 1) await checks.checkAll(never);
    expect(statuses(checks)).toEqual(['ok', 'ok', 'ok', 'ok']);
  });

  test('with another password fails', async () => {
    await start(1);
    const checks = checksOf({ probe_password: 'guessed' });
    await checks.checkAll(never);
    expect(statuses(checks)).toEqual(['warn']);
    expect(lines[0]?.err?.message).toBe('the answer was 407 (bad_token)');
  });

  test.each([
    ['an https echo', { echoTls: true, tls: false }, 'the proxy answered 407 (bad_token)'],
    ['a port with TLS', { echoTls: false, tls: true }, 'the answer was 407 (bad_token)'],
    [
      'an https echo and a port with TLS',
      { echoTls: true, tls: true },
      'the proxy answered 407 (bad_token)',
    ],
  ])('works with %s', async (_, { echoTls, tls }, refusal) => {
    await start(3, { echoTls, tls });
    behave('good', 'wrong', 'refuse');
    const before = getCACertificates('default');
    // The echo's certificate must be trusted; that of our own port need not be.
    if (echoTls) setDefaultCACertificates([...before, certificate.cert]);
    const checks = checksOf({ tls });
    await checks.checkAll(never);
    setDefaultCACertificates(before);
    expect(statuses(checks)).toEqual(['ok', 'crit', 'warn']);
    expect(lines.map(({ err }) => err?.message)).toContain(refusal);
  });

  test('does not believe an https echo whose certificate is not trusted', async () => {
    await start(1, { echoTls: true });
    const checks = checksOf();
    await checks.checkAll(never);
    expect(statuses(checks)).toEqual(['unknown']);
    expect(lines[0]?.err?.message).toMatch(/certificate/);
  });

  test('prefers a plain port, and never uses the override port', async () => {
    await start(2);
    const [plain, other] = proxies as [ScriptedProxy, ScriptedProxy];
    const listener = (port: number, more: Partial<Listener>): [number, Listener] => [
      port,
      { port, exit_ip: plain.ip, scheme: 'default', override: false, tls: false, ...more },
    ];
    const checks = checksOf({
      port_shift: 0,
      listeners: () =>
        new Map([
          listener(1, { override: true }),
          listener(2, { tls: true }),
          listener(plain.port, {}),
          listener(other.port, {}),
        ]),
    });
    await checks.checkAll(never);
    expect(statuses(checks)).toEqual(['ok', undefined]);
    expect(other.asked).toBe(0);
  });

  test('that takes more than two seconds is slow; after ten it has failed', async () => {
    await start(2);
    behave('slow', 'hang');
    const checks = checksOf({ clock: briskClock() });
    await checks.checkAll(never);
    expect(statuses(checks)).toEqual(['warn', 'warn']);
    expect(lines.map(({ msg }) => msg)).toContain('the check of an exit failed');
    await checks.checkAll(never);
    await checks.checkAll(never);
    expect(statuses(checks)).toEqual(['warn', 'crit']);
  });

  test('on request shows what was seen or why nothing was, and changes no health', async () => {
    await start(4);
    behave('good', 'wrong', 'refuse', 'drop');
    const checks = checksOf();
    const results = await Promise.all(proxies.map(({ ip }) => checks.checkNow(ip)));
    expect(results).toEqual([
      { address: proxies[0]?.ip, milliseconds: expect.any(Number) },
      {
        address: expect.not.stringContaining(proxies[1]?.ip ?? ''),
        milliseconds: expect.any(Number),
      },
      { fault: 'the answer was 407 (bad_token)' },
      { fault: 'socket hang up' },
    ]);
    expect(await checks.checkNow('192.0.2.99')).toEqual({
      fault: 'no proxy is served at this exit',
    });
    expect(checks.exits()).toEqual([]);
    behave('hang');
    const slow = await checksOf({ clock: briskClock() }).checkNow(proxies[0]?.ip ?? '');
    expect(slow).toEqual({ fault: 'no answer within 3 seconds' });
  });

  test('that is requested during many others is rejected, and done when there is room', async () => {
    await start(5);
    const checks = checksOf();
    const results = await Promise.all(proxies.map(({ ip }) => checks.checkNow(ip)));
    expect(results.filter((result) => 'fault' in result)).toEqual([
      { fault: 'too many checks are under way; try again' },
    ]);
    expect(await checks.checkNow(proxies[4]?.ip ?? '')).toMatchObject({ address: proxies[4]?.ip });
  });

  test.each<[string, string, (address: string) => [number, string]]>([
    ['the address alone', 'ok', (address) => [200, ` ${address}\n`]],
    ['another spelling of it', 'ok', (address) => [200, `::ffff:${address}`]],
    ['an error', 'unknown', (address) => [500, address]],
    ['a page', 'unknown', () => [200, '<html>']],
    ['JSON without an address', 'unknown', () => [200, 'null']],
    ['more than anybody wants', 'unknown', (address) => [200, ' '.repeat(100_000) + address]],
  ])('of an echo that answers %s gives %s', async (_, status, answer) => {
    await start(1);
    echo.answer = answer;
    const checks = checksOf();
    await checks.checkAll(never);
    expect(statuses(checks)).toEqual([status]);
  });
});

describe('a round of checks', () => {
  test('does not blame the exits when the echo is down, and evaluates them as before when it is back', async () => {
    await start(2);
    const checks = checksOf();
    await checks.checkAll(never);
    echo.answer = () => [503, ''];
    for (let round = 0; round < 4; round += 1) await checks.checkAll(never);
    expect(statuses(checks)).toEqual(['unknown', 'unknown']);
    expect(checks.faults().map(({ message }) => message)).toEqual([
      expect.stringMatching(/^Exits are not checked, .*: the answer was 503\.$/),
    ]);
    echo.answer = undefined;
    await checks.checkAll(never);
    expect([...statuses(checks), ...checks.faults()]).toEqual(['ok', 'ok']);
  });

  test('blames the exits when the echo answers to others', async () => {
    await start(2);
    echo.answer = (address) => (address === '127.0.0.3' ? [200, address] : [403, '']);
    const checks = checksOf();
    await checks.checkAll(never);
    expect(statuses(checks)).toEqual(['warn', 'ok']);
    echo.answer = (address) => (address === '127.0.0.1' ? [200, address] : [403, '']);
    await checks.checkAll(never);
    expect(statuses(checks)).toEqual(['warn', 'warn']);
  });

  test('makes at most four checks at once, spread over half of the time', async () => {
    await start(12);
    const slept: number[] = [];
    const clock: Clock = {
      ...systemClock,
      async sleep(seconds, signal) {
        if (seconds === 10) await systemClock.sleep(seconds, signal);
        else slept.push(seconds);
      },
    };
    const checks = checksOf({ clock, health_seconds: 60 });
    await checks.checkAll(never);
    expect(statuses(checks)).toEqual(Array.from({ length: 12 }, () => 'ok'));
    expect(ScriptedProxy.busiest).toBe(4);
    expect(slept).toEqual(Array.from({ length: 11 }, () => 60 / 2 / 12));
  });

  test('forgets exits that are gone', async () => {
    await start(2);
    const checks = checksOf();
    await checks.checkAll(never);
    proxies.pop();
    await checks.checkAll(never);
    expect(checks.exits().map(({ ip }) => ip)).toEqual(['127.0.0.2']);
  });
});

test('reports come at once when a status changes, else at least every five minutes; a lost one is repeated', async () => {
  await start(1);
  const late = proxies.splice(0);
  const stop = new AbortController();
  let time = 0;
  const sent: Array<[number, string]> = [];
  let failing = false;
  // A sleep of a minute ends at once, but not the ten seconds of a check.
  const clock: Clock = {
    now: () => 1_800_000_000 + time,
    steady: () => time,
    async sleep(seconds, signal) {
      if (seconds === 10) return systemClock.sleep(seconds, signal);
      time += seconds;
      if (time === 3) proxies.push(...late);
      if (time === 603) behave('wrong');
      if (time === 903) behave('good');
      failing = time === 903;
      if (time > 1500) stop.abort();
    },
  };
  const checks = checksOf({
    clock,
    health_seconds: 60,
    control: {
      async reportHealth({ exit_ips }) {
        const [{ ip, status, checked_at }] = exit_ips as [ExitHealth];
        expect([ip, checked_at]).toEqual(['127.0.0.2', clock.now()]);
        if (failing) throw new Error('connect ECONNREFUSED');
        sent.push([time, status]);
      },
    },
  });
  await checks.run(stop.signal);
  // The engine listens after three seconds.
  expect(sent).toEqual([
    [3, 'ok'],
    [303, 'ok'],
    [603, 'crit'],
    [963, 'warn'],
    [1143, 'ok'],
    [1443, 'ok'],
  ]);
});

describe('the VPN next to the exits', () => {
  const ip = '127.0.0.250';
  const service = { service: 'vpn-ikev2', ip, version: '2', isLacking: false } as const;
  const vpn = (): VpnOffer => ({ services: [service], certificate: undefined });
  /** No service responds there, and there is no wait. */
  const clock: Clock = { ...systemClock, now: () => 1_800_000_000, sleep: async () => undefined };
  const report = {
    services: [{ service: 'vpn-ikev2', ip, status: 'crit', checked_at: 1_800_000_000 }],
    certificate_expiry: null,
  };

  /** One round; `reject` may throw. Returns what was sent. */
  async function roundOf(reject: (report: HealthReport) => void, served = vpn) {
    await start(0);
    const sent: HealthReport[] = [];
    const stop = new AbortController();
    const checks = checksOf({
      vpn: served,
      clock: {
        ...clock,
        // The pause after a round; tries of the VPN are within a second.
        sleep: async (seconds) => (seconds > 1 ? stop.abort() : undefined),
      },
      health_seconds: 60,
      control: {
        async reportHealth(service) {
          sent.push(service);
          reject(service);
        },
      },
    });
    await checks.run(stop.signal);
    return { sent, checks };
  }

  test('is reported in the same report, and a service that does not answer is a fault', async () => {
    const { sent, checks } = await roundOf(() => {});
    expect(sent).toEqual([{ exit_ips: [], vpn: report }]);
    expect(checks.vpn()).toEqual(report);
    expect(checks.faults()).toEqual([
      {
        kind: 'vpn',
        subject: `vpn-ikev2 ${ip}`,
        message: expect.stringMatching(/^The service vpn-ikev2 at 127.0.0.250 fails: charon /),
      },
    ]);
  });

  test('of a service that lacks something nothing is asked', async () => {
    const lacking = { ...service, service: 'vpn-l2tp', version: '1', isLacking: true } as const;
    const { checks } = await roundOf(
      () => {},
      () => ({ services: [lacking], certificate: undefined }),
    );
    expect(checks.vpn()?.services).toMatchObject([{ service: 'vpn-l2tp', status: 'crit' }]);
    expect(checks.faults()).toMatchObject([
      { message: `The service vpn-l2tp at ${ip} fails: see the other faults of the VPN.` },
    ]);
  });

  test.each<[string, { status: number; field?: string }]>([
    ['rejects the member', { status: 400, field: 'vpn' }],
    ['takes no body that long', { status: 413 }],
  ])('an older control plane that %s gets the exits alone', async (_, about) => {
    const { sent } = await roundOf(({ vpn }) => {
      if (vpn) throw new ControlError('refused', { ...about, isOurs: true });
    });
    expect(sent).toEqual([{ exit_ips: [], vpn: report }, { exit_ips: [] }]);
  });

  test('another rejection is none of that: the whole report is repeated by the next round', async () => {
    const { sent } = await roundOf(() => {
      throw new ControlError('later', { status: 503 });
    });
    expect(sent).toEqual([{ exit_ips: [], vpn: report }]);
  });
});

test.each([
  ['https://Panel.Example.net./node/echo', 'panel.example.net', 443],
  ['http://192.0.2.1/', '192.0.2.1', 80],
  ['http://[2001:DB8:0::1]:8080/', '2001:db8::1', 8080],
])('the destination of %s is %s, port %d, as decisions compare it', (url, host, port) => {
  expect(destinationOf(new URL(url))).toEqual({ host, port });
});
