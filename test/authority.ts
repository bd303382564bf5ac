// A certificate authority to test against: Debian's pebble with its DNS, behind a gate that puts
// faults between it and its clients.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, request } from 'node:https';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { newCertificate } from '../server/test/certificate.ts';

/** Answered in place of the authority. */
export interface Refusal {
  status: number;
  headers?: Record<string, string>;
  body?: object;
}

export interface Authority {
  directory_url: string;
  /** A file for NODE_EXTRA_CA_CERTS. */
  ca_file: string;
  /** Where it connects for its checks. */
  tls_port: number;
  http_port: number;
  /** The path of each request, except those whose nonce was refused. */
  requests: string[];
  /** Decides on a request by its path. */
  refuse: (path: string) => Refusal | undefined;
  /** The Date of its responses; undefined: now. */
  date: Date | undefined;
  /** Its DNS: the address of a name, or undefined for a failure. */
  resolve(name: string, ip: string | undefined): Promise<void>;
  stop(): Promise<void>;
}

/**
 * Starts one, and makes this process trust it. Errors: pebble is not installed (Debian: `apt-get
 * install pebble`).
 */
export async function startAuthority(): Promise<Authority> {
  const folder = mkdtempSync(join(tmpdir(), 'exitward-pebble-'));
  const [own, management, tls_port, http_port, dns, dns_api] = (await freePorts(6)) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  // A name of its own: of two trusted ones with one name the wrong one would be looked at.
  const { cert, key } = newCertificate(`pebble ${own}`);
  const files = { certificate: join(folder, 'cert.pem'), privateKey: join(folder, 'key.pem') };
  writeFileSync(files.certificate, cert);
  writeFileSync(files.privateKey, key);
  setDefaultCACertificates([...getCACertificates('default'), cert]);
  const config = join(folder, 'pebble.json');
  const pebble = {
    listenAddress: `127.0.0.1:${own}`,
    managementListenAddress: `127.0.0.1:${management}`,
    ...files,
    httpPort: http_port,
    tlsPort: tls_port,
    ocspResponderURL: '',
    externalAccountBindingRequired: false,
  };
  writeFileSync(config, JSON.stringify({ pebble }));
  const none = ['http01', 'https01', 'tlsalpn01'].flatMap((name) => [`-${name}`, '']);
  const names = ['-dns01', `127.0.0.1:${dns}`, '-management', `127.0.0.1:${dns_api}`];
  const processes = [
    run('pebble-challtestsrv', ['-defaultIPv6', '', ...none, ...names]),
    run('pebble', ['-config', config, '-dnsserver', `127.0.0.1:${dns}`], {
      PEBBLE_VA_NOSLEEP: '1',
      // It shall be seen that a nonce may be refused, and that a name is checked each time.
      PEBBLE_WFE_NONCEREJECT: '20',
      PEBBLE_AUTHZREUSE: '0',
    }),
  ];
  const requests: string[] = [];
  const gate = createServer({ cert, key }, (incoming, response) => {
    const path = incoming.url ?? '';
    const refusal = authority.refuse(path);
    response.on('finish', () => response.statusCode !== 400 && requests.push(path));
    if (refusal) answer(response, refusal);
    else forward(incoming, response, own, () => authority.date);
  });
  gate.listen(0, '127.0.0.1');
  await once(gate, 'listening');
  const { port } = gate.address() as AddressInfo;
  const authority: Authority = {
    directory_url: `https://127.0.0.1:${port}/dir`,
    ca_file: files.certificate,
    tls_port,
    http_port,
    requests,
    refuse: () => undefined,
    date: undefined,
    async resolve(name, ip) {
      const send = (path: string, body: object) =>
        fetch(`http://127.0.0.1:${dns_api}/${path}`, {
          method: 'POST',
          body: JSON.stringify(body),
        });
      const host = `${name}.`;
      await send(ip === undefined ? 'set-servfail' : 'clear-servfail', { host });
      await send('clear-a', { host });
      if (ip !== undefined) await send('add-a', { host, addresses: [ip] });
    },
    async stop() {
      gate.closeAllConnections();
      gate.close();
      for (const process of processes) {
        const ended = process.exitCode === null && once(process, 'exit');
        process.kill('SIGKILL');
        await ended;
      }
      rmSync(folder, { recursive: true, force: true });
    },
  };
  await untilThere(authority.directory_url, processes);
  return authority;
}

function run(program: string, args: string[], env: Record<string, string> = {}): ChildProcess {
  const { PATH } = process.env;
  const started = spawn(program, args, { env: { PATH, ...env }, stdio: 'ignore' });
  // Also when the tests end without having stopped it.
  process.once('exit', () => started.kill('SIGKILL'));
  started.on('error', (error) => {
    throw new Error(`${program} cannot be run: apt-get install pebble`, { cause: error });
  });
  return started;
}

/** Several at once, so that none comes twice. */
export async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createTcpServer().listen(0, '127.0.0.1'));
  await Promise.all(servers.map((server) => once(server, 'listening')));
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map((server) => new Promise((done) => server.close(done))));
  return ports;
}

function answer(response: ServerResponse, { status, headers, body }: Refusal): void {
  response.writeHead(status, { 'content-type': 'application/problem+json', ...headers });
  response.end(body === undefined ? '' : JSON.stringify(body));
}

/** Hands a request on as it is: the authority makes its URLs of the Host header. */
function forward(
  incoming: IncomingMessage,
  response: ServerResponse,
  port: number,
  date: () => Date | undefined,
): void {
  const { method, headers, url: path } = incoming;
  const options = { host: '127.0.0.1', port, method, headers, path, rejectUnauthorized: false };
  const sent = request(options, (received) => {
    const shown = date();
    const dated = shown ? { date: shown.toUTCString() } : {};
    response.writeHead(received.statusCode ?? 502, { ...received.headers, ...dated });
    received.pipe(response);
  });
  sent.on('error', () => response.destroy());
  incoming.pipe(sent);
}

async function untilThere(url: string, processes: ChildProcess[]): Promise<void> {
  for (let tries = 0; ; tries++) {
    const { status } = await fetch(url).catch(() => ({ status: 0 }));
    if (status === 200) return;
    if (tries === 300 || processes.some(({ exitCode }) => exitCode !== null)) {
      throw new Error('pebble does not answer');
    }
    await sleep(100);
  }
}
