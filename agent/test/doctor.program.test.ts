// The doctor of a node, as a command: on machines with and without each fault, before and after
// joining.
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { issueCertificate } from '../../server/test/certificate.ts';
import { deepTest } from '../../test/deep_test.ts';
import { systemClock } from '../src/clock.ts';
import { diskChecks } from '../src/doctor/disk.ts';
import type { Report } from '../src/doctor/doctor.ts';
import type { Subject } from '../src/doctor/subject.ts';
import type { NodeRecord } from '../src/policy/records.ts';
import { outcomeOf, runCommand, startCommand } from './cli_process.ts';
import { listed } from './fake_engine.ts';
import { createCertificate, startNameServer } from './proxy_world.ts';
import { ScriptedControl } from './scripted_control.ts';
import { putScript } from './shell_script.ts';

const cleaners: Array<() => unknown> = [];
let parent: string;
let stateDir: string;
let names: string;
let control: ScriptedControl;
let folders = 0;

beforeAll(async () => {
  parent = mkdtempSync(join(tmpdir(), 'exitward-doctor-'));
  names = await nameServer({});
});
afterAll(() => rmSync(parent, { recursive: true, force: true }));
beforeEach(async () => {
  stateDir = join(parent, `${++folders}`);
  control = await ScriptedControl.start();
  cleaners.push(() => control.stop());
});
afterEach(async () => {
  for (const clean of cleaners.splice(0).reverse()) await clean();
});

/** A name server that knows only these names; `*` stands for every other name. */
async function nameServer(
  addresses: Record<string, string>,
  ignores_ipv6 = false,
): Promise<string> {
  class Known extends Map<string, () => Promise<string[]>> {
    override get(name: string) {
      const ip = addresses[name] ?? addresses['*'];
      return ip === undefined ? undefined : async () => [ip];
    }
  }
  const server = await startNameServer(new Known(), { ip: '127.0.0.1', port: 0, ignores_ipv6 });
  return server.address;
}

const settingsWith = (env: Record<string, string>) => ({
  EXITWARD_AGENT_STATE_DIR: stateDir,
  EXITWARD_AGENT_ENGINE: 'embedded',
  EXITWARD_AGENT_LISTEN_HOST: '127.0.0.1',
  EXITWARD_AGENT_DNS_SERVERS: names,
  ...env,
});
const start = (args: string[], env: Record<string, string>) =>
  startCommand(args, settingsWith(env));
const run = (args: string[], env: Record<string, string> = {}) =>
  // Node reads it at its start.
  env.NODE_EXTRA_CA_CERTS ? outcomeOf(start(args, env)) : runCommand(args, settingsWith(env));

/** Runs the doctor; returns its findings by check, its exit code and its output. */
async function doctor(args: string[] = [], env: Record<string, string> = {}) {
  const { code, stdout, stderr } = await run(
    ['doctor', ...args, '--outbound', 'none', '--json'],
    env,
  );
  expect(stderr).toBe('');
  const report = JSON.parse(stdout) as Report;
  const of = (name: string) => report.findings.filter((finding) => finding.name === name);
  return { code, report, of };
}

const port = (server: { address(): unknown }) => (server.address() as AddressInfo).port;

describe('before joining', () => {
  test('a machine that is right gets no fault, exit code 0, and not a file', async () => {
    const { code, report } = await doctor([control.url]);
    expect(report.findings.filter(({ state }) => state === 'fault')).toEqual([]);
    expect([code, existsSync(stateDir)]).toEqual([0, false]);
    expect(new Set(report.findings.map(({ name }) => name))).toEqual(
      new Set([
        ...[
          'node',
          'connection_log',
          'rights',
          'squid',
          'programs',
          'apparmor',
          'certificate',
          'firewall',
          'vpn',
          'vpn-l2tp',
          'vpn-path',
          'kernel',
          'descriptors',
          'outgoing_ports',
        ],
        ...['disk_space', 'disk_speed', 'addresses', 'ports', 'dns', 'outbound'],
        ...['control', 'clock'],
      ]),
    );
    for (const { name, state, sentence, remedy } of report.findings) {
      expect(sentence).toMatch(/^[^a-z].*\.$/);
      // A machine needs no VPN, but the finding says how to add one.
      if (name === 'vpn' || name === 'vpn-l2tp') expect(state).toBe('ok');
      else expect(remedy === null).toBe(state === 'ok');
    }
  });

  test('off a terminal each finding is a line of state, check, sentence and remedy', async () => {
    const { code, stdout } = await run(['doctor', 'http://127.0.0.1:9', '--outbound', 'none']);
    expect(code).toBe(1);
    const lines = stdout.trimEnd().split('\n');
    expect(lines.map((line) => line.split('\t').length)).toEqual(lines.map(() => 4));
    expect(stdout).toMatch(/^fault\tcontrol\t[^\t]*127\.0\.0\.1[^\t]*ECONNREFUSED[^\t]*\tcurl /m);
  });

  test('every setting that is wrong or misspelt is reported', async () => {
    const { code, of } = await doctor([], {
      EXITWARD_AGENT_GUARD: 'on',
      EXITWARD_AGENT_POLL_SECONDS: '0',
    });
    expect([code, of('settings').map(({ state }) => state)]).toEqual([1, ['fault', 'fault']]);
    const { of: ofMisspelt } = await doctor([], { EXITWARD_AGENT_GUARDS: 'nftables' });
    expect(ofMisspelt('settings')).toMatchObject([
      { state: 'warning', sentence: expect.stringContaining('Did you mean EXITWARD_AGENT_GUARD?') },
    ]);
  });

  test('a URL that would send the token unencrypted is refused', async () => {
    const { code, stderr } = await run(['doctor', 'http://192.0.2.1']);
    expect([code, stderr]).toEqual([1, expect.stringContaining('unencrypted')]);
  });

  deepTest('another program on a port of the usual scheme is a warning', async () => {
    const other = createServer().listen(12_345, '127.0.0.1');
    cleaners.push(() => other.close());
    const { of } = await doctor();
    expect(of('ports')).toMatchObject([{ state: 'warning', sentence: /12345/ }].map(anySentence));
  });

  test('without Squid, or without root, the engine that needs neither is offered', async () => {
    const { code, of } = await doctor([], {
      EXITWARD_AGENT_ENGINE: '',
      EXITWARD_AGENT_SQUID: '/nowhere/squid',
    });
    expect(code).toBe(1);
    const embedded = expect.stringContaining('EXITWARD_AGENT_ENGINE=embedded');
    expect(of('squid')).toMatchObject([
      { state: 'fault', remedy: expect.stringContaining('apt-get install squid-openssl') },
    ]);
    expect(of('squid')).toMatchObject([{ remedy: embedded }]);
    if (process.getuid?.() !== 0) {
      expect(of('rights')).toMatchObject([{ state: 'fault', remedy: embedded }]);
    }
  });

  test('the embedded engine needs no other program, and neither does its doctor', async () => {
    const { report } = await doctor([control.url], { PATH: parent });
    expect(report.findings.map(({ sentence }) => sentence).join()).not.toMatch(
      /could not be looked at/,
    );
  });

  deepTest('a Squid that is too old, or without OpenSSL, is reported', async () => {
    const findings = async (text: string) => {
      const squid = join(parent, 'squid');
      putScript(squid, `echo "${text}"`);
      const env = { EXITWARD_AGENT_ENGINE: 'squid', EXITWARD_AGENT_SQUID: squid };
      return (await doctor([], env)).of('squid')[0]?.state;
    };
    expect(await findings('Squid Cache: Version 4.13\nconfigure options: --with-openssl')).toBe(
      'fault',
    );
    expect(await findings('Squid Cache: Version 6.13\nconfigure options: --with-gnutls')).toBe(
      'warning',
    );
  });
});

deepTest(
  'a disk whose flushes take longer than changes or usage can wait is reported, by how long they take',
  async () => {
    const state = async (seconds: number) => {
      let now = 0;
      const clock = { ...systemClock, steady: () => (now += seconds / 2) };
      const config = { state_dir: parent, engine: 'embedded' };
      const findings = await Promise.all(
        diskChecks.map(async ({ name, run }) => ({
          name,
          ...[await run({ clock, config } as unknown as Subject)].flat()[0],
        })),
      );
      return findings.find(({ name }) => name === 'disk_speed')?.state;
    };
    expect(await Promise.all([0.01, 0.06, 3].map(state))).toEqual(['ok', 'warning', 'fault']);
  },
);

/** Matches a finding whose sentence has this text. */
function anySentence({ state, sentence }: { state: string; sentence: RegExp }) {
  return { state, sentence: expect.stringMatching(sentence) };
}

describe('names', () => {
  test('a name server that answers for names that do not exist is a warning', async () => {
    const { of, code } = await doctor([], {
      EXITWARD_AGENT_DNS_SERVERS: await nameServer({ '*': '198.51.100.9' }),
    });
    expect(of('dns')).toMatchObject([
      {
        state: 'warning',
        sentence: expect.stringContaining('198.51.100.9 for a name that does not'),
      },
    ]);
    expect(code).toBe(0);
  });

  deepTest('a name server that ignores questions for IPv6 addresses is a warning', async () => {
    const { of, code } = await doctor([], {
      EXITWARD_AGENT_DNS_SERVERS: await nameServer({}, true),
    });
    expect(of('dns')).toMatchObject([
      { state: 'warning', sentence: expect.stringContaining('IPv6 addresses (AAAA)') },
    ]);
    expect(code).toBe(0);
  });

  deepTest(
    'no name server that answers is a fault; one of two that is silent is a warning',
    async () => {
      const dead = '127.0.0.1:9';
      const alone = await doctor([], { EXITWARD_AGENT_DNS_SERVERS: dead });
      expect([alone.code, alone.of('dns').map(({ state }) => state)]).toEqual([1, ['fault']]);
      const both = await doctor([], { EXITWARD_AGENT_DNS_SERVERS: `${dead},${names}` });
      expect(both.of('dns').map(({ state }) => state)).toEqual(['warning', 'ok']);
    },
  );

  test('a control plane without an address is a fault', async () => {
    const { code, of } = await doctor(['https://control.invalid']);
    expect([code, of('control')]).toMatchObject([
      1,
      [{ state: 'fault', sentence: expect.stringContaining('has no address') }],
    ]);
  });
});

describe('the control plane', () => {
  test('one that answers otherwise is a fault: it is another server', async () => {
    const other = createHttpServer((_, response) => response.end('<html>')).listen(0, '127.0.0.1');
    cleaners.push(() => other.close());
    await new Promise((resolve) => other.once('listening', resolve));
    const { code, of } = await doctor([`http://127.0.0.1:${port(other)}`]);
    expect([code, of('control').at(-1)?.state]).toEqual([1, 'fault']);
  });

  test('a clock that is wrong by its time is a fault', async () => {
    control.ahead_seconds = 3600;
    const { code, of } = await doctor([control.url]);
    expect([code, of('clock')]).toMatchObject([
      1,
      [{ state: 'fault', sentence: expect.stringMatching(/3[56]\d\d seconds behind/) }],
    ]);
  });

  deepTest(
    'a machine that it sees under an address that is none of its own is behind a NAT: a warning',
    async () => {
      control.seen_as = '198.51.100.200';
      const { code, of } = await doctor([control.url]);
      expect([code, of('control').at(-1)?.state]).toEqual([0, 'warning']);
    },
  );

  deepTest(
    'its certificate is judged: unknown, of another name, or good, a short-lived one as well',
    async () => {
      const serve = async (name: string) => {
        const pair = issueCertificate(name, { days: 6 });
        const server = createHttpsServer(pair, (request, response) =>
          response.end(request.url === '/healthz' ? '{"status":"ok"}' : '{"address":"127.0.0.1"}'),
        ).listen(0, '127.0.0.1');
        await new Promise((resolve) => server.once('listening', resolve));
        cleaners.push(() => server.close());
        const ca = join(parent, `${name}.pem`);
        writeFileSync(ca, pair.cert);
        return { url: `https://127.0.0.1:${port(server)}`, ca };
      };
      const good = await serve('127.0.0.1');
      const unknown = await doctor([good.url]);
      expect([unknown.code, unknown.of('control')]).toMatchObject([
        1,
        [{ state: 'fault', remedy: expect.stringContaining('NODE_EXTRA_CA_CERTS') }],
      ]);
      const trusted = await doctor([good.url], { NODE_EXTRA_CA_CERTS: good.ca });
      expect(trusted.of('control').map(({ state }) => state)).toEqual(['ok', 'ok']);
      expect(trusted.of('control')[0]?.sentence).toMatch(
        /is for 127\.0\.0\.1 and expires in [56] days/,
      );
      const other = await serve('other.example');
      const wrong = await doctor([other.url], { NODE_EXTRA_CA_CERTS: other.ca });
      expect(wrong.of('control')).toMatchObject([
        { state: 'fault', sentence: expect.stringContaining('for another name') },
      ]);
    },
  );
});

describe('after joining', () => {
  const base = 20_000 + Math.floor(Math.random() * 5000);
  const join_it = async (exit_ip: string, more: object = {}) => {
    const [server, ...others] = listed(4_000_000_000);
    const value = {
      ...(server as { value: object }).value,
      port_schemes: [{ name: 'default', bases: [{ base, service: 'proxy' }] }],
      exit_ips: [{ ip: exit_ip, port_base: 1 }],
      ...more,
    };
    control.records = [{ ...server, value } as NodeRecord, ...others];
    expect((await run(['join', control.url, 'ewi_x'])).code).toBe(0);
  };
  const agent = async (env: Record<string, string> = {}) => {
    const child = start(['run'], { EXITWARD_AGENT_LOG_LEVEL: 'error', ...env });
    cleaners.push(async () => {
      const ended = new Promise((done) => child.once('exit', done));
      if (child.exitCode === null && child.kill()) await ended;
    });
    await control.until(() => control.acknowledged.length > 0);
    return child;
  };

  test('a machine that joined, and on which no agent runs, gets a warning', async () => {
    await join_it('127.0.0.1');
    const { code, of } = await doctor();
    expect([code, of('node')]).toMatchObject([0, [{ state: 'warning' }]]);
    // Without a URL, the control plane of the identity is checked.
    expect(of('control')).toMatchObject([{ state: 'ok' }]);
  });

  test('the ports of a running agent are its own, it keeps running, and no file is left', async () => {
    await join_it('127.0.0.1');
    await agent();
    const files = () => readdirSync(stateDir, { recursive: true }).sort();
    const before = [files(), control.asked.filter((request) => request === 'GET /changes').length];
    const { code, of } = await doctor();
    expect(of('node')).toMatchObject([
      { state: 'ok', sentence: expect.stringContaining('follows') },
    ]);
    expect(of('ports')).toMatchObject([
      { state: 'ok', sentence: expect.stringContaining('holds all') },
    ]);
    expect(of('addresses')).toMatchObject([
      { state: 'warning', sentence: expect.stringContaining('127.0.0.1 is a loopback address') },
    ]);
    expect(code).toBe(0);
    expect([files(), control.asked.filter((request) => request === 'GET /changes').length]).toEqual(
      before,
    );
  });

  deepTest(
    'a port that another program holds, and an exit that is not there, are faults',
    async () => {
      await join_it('198.51.100.1');
      const running = await agent();
      const stopped = new Promise((done) => running.once('exit', done));
      running.kill();
      await stopped;
      const other = createServer().listen(base + 1, '127.0.0.1');
      cleaners.push(() => other.close());
      const { code, of } = await doctor();
      expect(code).toBe(1);
      expect(of('ports')).toMatchObject([
        {
          state: 'fault',
          sentence: expect.stringMatching(
            new RegExp(`${base + 1} are held by .*process ${process.pid}`),
          ),
        },
      ]);
      expect(of('addresses')).toMatchObject([
        { state: 'fault', sentence: expect.stringContaining('198.51.100.1') },
      ]);
    },
  );

  const withoutCharon = { EXITWARD_AGENT_CHARON: '/usr/sbin/no-charon' };

  test('each lack is a fault with its remedy where the server has a VPN, and a certificate that clients reject is a warning', async () => {
    const { cert, key } = createCertificate('other.example.net');
    const [cert_file, key_file] = [join(parent, 'vpn.crt'), join(parent, 'vpn.key')];
    writeFileSync(cert_file, cert);
    writeFileSync(key_file, key, { mode: 0o600 });
    const pair = { EXITWARD_AGENT_TLS_CERT: cert_file, EXITWARD_AGENT_TLS_KEY: key_file };
    await join_it('127.0.0.1', { hostname: 'fra1.example.net', services: ['vpn-ikev2'] });
    await agent({ ...withoutCharon, ...pair });
    const { code, of } = await doctor([], { ...withoutCharon, ...pair });
    const finding = of('vpn');
    expect([code, new Set(finding.map(({ state }) => state))]).toEqual([1, new Set(['fault'])]);
    const sentences = finding.map(({ sentence }) => sentence).join('\n');
    expect(sentences).toContain('cannot serve a VPN: there is no /usr/sbin/no-charon.');
    expect(finding.map(({ remedy }) => remedy)).not.toContain(null);
    const rejected = 'Clients of fra1.example.net reject the certificate: ';
    expect(of('certificate')).toMatchObject([
      { state: 'warning', sentence: `${rejected}it is signed by itself.` },
    ]);
    const trusted = { ...pair, NODE_EXTRA_CA_CERTS: cert_file };
    expect((await doctor([], { ...withoutCharon, ...trusted })).of('certificate')).toMatchObject([
      { state: 'warning', sentence: expect.stringContaining(', not for fra1.example.net.') },
    ]);
  });

  deepTest('the same is not a fault if the server has no VPN', async () => {
    await join_it('127.0.0.1', { services: ['proxy'] });
    await agent(withoutCharon);
    expect((await doctor([], withoutCharon)).of('vpn')).toMatchObject([
      {
        state: 'ok',
        sentence: expect.stringMatching(
          /^fra1 does not serve a VPN\. If you add it, this machine needs more: /,
        ),
        remedy: null,
      },
    ]);
  });

  test('an identity that other users can read is a fault', async () => {
    mkdirSync(stateDir, { mode: 0o700 });
    writeFileSync(join(stateDir, 'node.json'), '{}', { mode: 0o644 });
    const { code, of } = await doctor();
    expect([code, of('identity')]).toMatchObject([
      1,
      [{ sentence: expect.stringContaining('chmod') }],
    ]);
  });
});
