// ACME on a node: the certificate of its TLS ports for the hostname of its server, against a real certificate authority.
import { once } from 'node:events';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { type Authority, freePorts, startAuthority } from '../../test/authority.ts';
import { readConfig } from '../src/config.ts';
import { joinNetwork } from '../src/identity.ts';
import { type Running, runAgent } from '../src/main.ts';
import type { NodeRecord } from '../src/policy/records.ts';
import { listed } from './fake_engine.ts';
import { ScriptedControl } from './scripted_control.ts';

let authority: Authority;
beforeAll(async () => {
  authority = await startAuthority();
});
afterAll(() => authority.stop());

let folder: string;
let control: ScriptedControl;
let port: number;
let running: Running;

const hostname = 'fra1.example.net';
const server = (name: string): NodeRecord => ({
  kind: 'server',
  value: {
    name: 'fra1',
    hostname: name,
    services: ['proxy-https'],
    port_schemes: [{ name: 'default', bases: [{ base: port - 1, service: 'proxy-https' }] }],
    exit_ips: [{ ip: '127.0.0.1', port_base: 1 }],
  },
});

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'exitward-agent-acme-'));
  [port] = (await freePorts(1)) as [number];
  control = await ScriptedControl.start();
  control.records = [server(hostname), ...listed(4_000_000_000).slice(1)];
});
afterEach(async () => {
  await running.stop();
  await control.stop();
  await authority.resolve(hostname, '127.0.0.1');
  rmSync(folder, { recursive: true, force: true });
});

async function start(env: Record<string, string> = {}): Promise<void> {
  const state_dir = join(folder, 'state');
  await joinNetwork({ state_dir, url: control.url, code: 'ewi_x', name: 'a', again: true });
  await run(env);
}

async function run(env: Record<string, string> = {}): Promise<void> {
  const config = readConfig({
    EXITWARD_AGENT_STATE_DIR: join(folder, 'state'),
    EXITWARD_AGENT_ENGINE: 'embedded',
    EXITWARD_AGENT_LISTEN_HOST: '127.0.0.1',
    EXITWARD_AGENT_ACME: 'operator@proxies.example',
    EXITWARD_AGENT_ACME_DIRECTORY: authority.directory_url,
    EXITWARD_AGENT_ACME_LISTEN: `127.0.0.1:${authority.tls_port}`,
    ...env,
  });
  running = await runAgent(config, { log: pino({ level: 'silent' }) });
}

/** The names of the certificate that the TLS port shows. */
async function shown(): Promise<string | undefined> {
  const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false });
  await once(socket, 'secureConnect');
  const { subjectaltname } = socket.getPeerCertificate();
  socket.destroy();
  return subjectaltname;
}

const untilShown = (name: string) =>
  vi.waitFor(async () => expect(await shown()).toBe(`DNS:${name}`), {
    timeout: 40_000,
    interval: 200,
  });

const faults = () =>
  running
    .status()
    .faults.filter(({ kind }) => kind === 'certificate')
    .map(({ message }) => message);

test('the TLS ports have a certificate for the hostname of the server, by a listener of the check alone', async () => {
  await start();
  await untilShown(hostname);
  await vi.waitFor(() => expect(faults()).toEqual([]), 20_000);
  for (const file of ['certificate.pem', 'acme.json']) {
    expect(statSync(join(folder, 'state/tls', file)).mode & 0o777).toBe(0o600);
  }
  const left = connect({ host: '127.0.0.1', port: authority.tls_port, rejectUnauthorized: false });
  const [error] = (await once(left, 'error')) as [NodeJS.ErrnoException];
  expect(error.code).toBe('ECONNREFUSED');
});

test('a hostname that changes gets another certificate, which is in force without a restart and stays behind one', async () => {
  await start();
  await untilShown(hostname);
  control.change(server('fra2.example.net'));
  await untilShown('fra2.example.net');
  await running.stop();
  authority.requests.length = 0;
  await run();
  await untilShown('fra2.example.net');
  expect(authority.requests).toEqual([]);
});

test('http-01 and names of its own are settings', async () => {
  await start({
    EXITWARD_AGENT_ACME_CHALLENGE: 'http-01',
    EXITWARD_AGENT_ACME_LISTEN: `127.0.0.1:${authority.http_port}`,
    EXITWARD_AGENT_ACME_NAMES: 'node-a.example.net',
  });
  await untilShown('node-a.example.net');
});

test('a failure is a fault of the node, which the control plane hears', async () => {
  await authority.resolve(hostname, '127.0.0.9');
  await start();
  const sentence = expect.stringMatching(
    /^No new certificate: .* looked for fra1\.example\.net on TCP port 443 .* The next try is at .*Z\.$/,
  );
  await vi.waitFor(() => {
    expect(faults()).toContainEqual(sentence);
    expect(faults()).toContainEqual(expect.stringContaining('the first one by ACME is awaited.'));
    expect(control.faults.at(-1)).toContainEqual(
      expect.objectContaining({ kind: 'certificate', subject: hostname, message: sentence }),
    );
  }, 40_000);
});
