// A TLS front before a control plane that other machines reach: it ends their TLS, and passes the
// bytes on.
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer } from 'node:tls';

export interface Front {
  port: number;
  /** The certificate, for those who are to trust it. */
  ca_file: string;
  stop(): Promise<void>;
}

/** At all addresses of this machine, with a certificate for these. */
export async function startFront(to: string, ips: readonly string[]): Promise<Front> {
  const { hostname, port } = new URL(to);
  const dir = mkdtempSync(join(tmpdir(), 'exitward-front-'));
  const [ca_file, key_file] = [join(dir, 'cert.pem'), join(dir, 'key.pem')];
  const names = ips.map((ip) => `IP:${ip}`).join();
  execFileSync(
    'openssl',
    [
      ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'],
      ...['-keyout', key_file, '-out', ca_file, '-days', '2', '-subj', '/CN=control'],
      ...['-addext', `subjectAltName=${names}`],
    ],
    { stdio: 'ignore' },
  );
  const sockets = new Set<Socket>();
  const pair = { cert: readFileSync(ca_file), key: readFileSync(key_file) };
  const server = createServer(pair, (near) => {
    const far = connect(Number(port), hostname);
    for (const [source, other] of [[near, far] as const, [far, near] as const]) {
      source.on('error', () => undefined);
      source.once('close', () => other.destroy());
      source.pipe(other);
    }
  });
  // Also those that never come to speak TLS.
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  await once(server.listen(0, '0.0.0.0'), 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    ca_file,
    async stop() {
      for (const socket of sockets) socket.destroy();
      await new Promise((done) => server.close(done));
      rmSync(dir, { recursive: true, force: true });
    },
  };
}
