// The site that foreign clients visit: files, uploads, a git repository, a package, a WebSocket;
// over HTTP/1.1 and HTTP/2.
import { execFileSync, spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createSecureServer } from 'node:http2';
import type { AddressInfo, Socket } from 'node:net';
import { join } from 'node:path';
import { createCertificate } from '../proxy_world.ts';
import { cleanEnvironment } from './programs.ts';
import { acceptingHead } from './websocket.ts';

/** A request, as the site saw it. */
export interface Visit {
  /** The address that was dialled, and the one it came from. */
  at: string;
  from: string;
  version: string;
}

export interface Site {
  http: number;
  https: number;
  /** Of www.example, PEM. */
  certificate: string;
  /** The file that is downloaded and uploaded, and its digest. */
  blob: string;
  digest: string;
  /** The requests below this first part of their path. */
  visits(tag: string): Visit[];
  stop(): Promise<void>;
}

export const digestOf = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');

/** All paths exist below any first part, which distinguishes visits. */
export async function startSite(dir: string): Promise<Site> {
  const bytes = randomBytes(2_000_000);
  const blob = join(dir, 'blob');
  writeFileSync(blob, bytes);
  const digest = digestOf(bytes);
  createRepository(dir);
  createPackage(dir);
  const pair = createCertificate('www.example');
  const visits = new Map<string, Visit[]>();

  const note = (request: IncomingMessage): string => {
    const [, tag = '', path = ''] = /^\/(\w+)(\/.*)/.exec(request.url ?? '') ?? [];
    const { localAddress: at = '', remoteAddress: from = '' } = request.socket;
    const visit = { at, from, version: request.httpVersion };
    visits.set(tag, [...(visits.get(tag) ?? []), visit]);
    return path;
  };
  const answer = (request: IncomingMessage, response: ServerResponse) => {
    // A client may disconnect before its whole request has arrived.
    serve(request, response).catch(() => response.destroy());
  };
  const serve = async (request: IncomingMessage, response: ServerResponse) => {
    const path = note(request);
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = Buffer.concat(chunks);
    if (path.startsWith('/repository.git/')) return runGit(dir, path, body, request, response);
    if (path === '/page') return response.end('<title>page</title>');
    if (request.method !== 'GET') return response.end(digestOf(body));
    try {
      response.end(readFileSync(join(dir, path)));
    } catch {
      response.writeHead(404).end();
    }
  };
  const tls = createSecureServer({ ...pair, allowHTTP1: true }, (request, response) =>
    // Requests of HTTP/1.1 and HTTP/2 arrive here; this uses their common properties.
    answer(request as unknown as IncomingMessage, response as unknown as ServerResponse),
  );
  const plain = createServer(answer);
  const sockets = new Set<Socket>();
  for (const server of [plain, tls]) {
    server.on('upgrade', (request: IncomingMessage, socket: Socket) => {
      note(request);
      echo(request, socket);
    });
    server.on('connection', (socket: Socket) => {
      sockets.add(socket.on('error', () => {}).on('close', () => sockets.delete(socket)));
    });
    await once(server.listen(0, '0.0.0.0'), 'listening');
  }
  const [http = 0, https = 0] = [plain, tls].map(
    (server) => (server.address() as AddressInfo).port,
  );
  return {
    ...{ http, https, blob, digest, certificate: pair.cert },
    visits: (tag) => visits.get(tag) ?? [],
    async stop() {
      for (const socket of sockets) socket.destroy();
      for (const server of [plain, tls]) await new Promise((done) => server.close(done));
    },
  };
}

// ---- A repository of git, which is cloned and pushed to ---------------------------------------

function createRepository(dir: string): void {
  const git = (...args: string[]) =>
    execFileSync('git', args, { cwd: dir, env: cleanEnvironment(dir), stdio: 'pipe' });
  git('init', '--quiet', '--bare', '--initial-branch=main', 'repository.git');
  git('-C', 'repository.git', 'config', 'http.receivepack', 'true');
  git('clone', '--quiet', 'repository.git', 'work');
  git('-C', 'work', 'checkout', '--quiet', '-b', 'main');
  writeFileSync(join(dir, 'work', 'blob'), readFileSync(join(dir, 'blob')));
  git('-C', 'work', 'add', 'blob');
  const author = ['-c', 'user.name=Alice', '-c', 'user.email=alice@example'];
  git('-C', 'work', ...author, 'commit', '--quiet', '--message=blob');
  git('-C', 'work', 'push', '--quiet', 'origin', 'main');
}

/** Git's own program for HTTP, by CGI. */
async function runGit(
  dir: string,
  url: string,
  body: Buffer,
  { method = '', headers }: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const [path, query = ''] = url.split('?');
  const backend = spawn('git', ['http-backend'], {
    env: {
      ...cleanEnvironment(dir),
      ...{ GIT_PROJECT_ROOT: dir, GIT_HTTP_EXPORT_ALL: '1', PATH_INFO: path },
      ...{ QUERY_STRING: query, REQUEST_METHOD: method },
      CONTENT_TYPE: headers['content-type'],
      CONTENT_LENGTH: String(body.length),
      HTTP_CONTENT_ENCODING: headers['content-encoding'],
      GIT_PROTOCOL: headers['git-protocol']?.toString(),
    },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  backend.stdin.on('error', () => {}).end(body);
  const chunks: Buffer[] = [];
  for await (const chunk of backend.stdout) chunks.push(chunk);
  const output = Buffer.concat(chunks);
  const end = output.indexOf('\r\n\r\n');
  const lines = output.toString('latin1', 0, end).split('\r\n');
  for (const line of lines) {
    const [name = '', value = ''] = line.split(': ');
    if (name === 'Status') response.statusCode = Number.parseInt(value, 10);
    else response.setHeader(name, value);
  }
  response.end(output.subarray(end + 4));
}

// ---- A repository of Debian packages, of one package ------------------------------------------

function createPackage(dir: string): void {
  const [tree, archive] = [join(dir, 'tree'), join(dir, 'debian')];
  mkdirSync(join(tree, 'DEBIAN'), { recursive: true });
  mkdirSync(archive);
  const control = [
    ...['Package: blob', 'Version: 1', 'Architecture: all'],
    ...['Maintainer: Alice <alice@example>', 'Description: bytes'],
  ].join('\n');
  writeFileSync(join(tree, 'DEBIAN', 'control'), `${control}\n`);
  writeFileSync(join(tree, 'blob'), readFileSync(join(dir, 'blob')));
  const file = join(archive, 'blob.deb');
  execFileSync('dpkg-deb', ['--build', '-Znone', '--root-owner-group', tree, file]);
  const bytes = readFileSync(file);
  const place = `Filename: ./blob.deb\nSize: ${bytes.length}\nSHA256: ${digestOf(bytes)}`;
  const packages = Buffer.from(`${control}\n${place}\n`);
  writeFileSync(join(archive, 'Packages'), packages);
  const sum = ` ${digestOf(packages)} ${packages.length} Packages`;
  const date = 'Date: Thu, 01 Jan 2026 00:00:00 UTC';
  writeFileSync(join(archive, 'Release'), `Origin: example\n${date}\nSHA256:\n${sum}\n`);
}

// ---- A WebSocket -------------------------------------------------------------------------------

/** A minimal WebSocket: its handshake, an echo of short texts, and its end. */
function echo({ headers }: IncomingMessage, socket: Socket): void {
  socket.on('error', () => {}).on('end', () => socket.destroy());
  socket.write(acceptingHead(headers));
  let rest = Buffer.alloc(0);
  socket.on('data', (chunk: Buffer) => {
    rest = Buffer.concat([rest, chunk]);
    // Kind, length below 126, four bytes that the text is masked with, text.
    for (;;) {
      const [kind, size] = [(rest[0] ?? 0) & 15, (rest[1] ?? 0) & 127];
      if (rest.length < 6 + size) return;
      const [mask, text] = [rest.subarray(2, 6), rest.subarray(6, 6 + size)];
      const clear = text.map((byte, index) => byte ^ (mask[index % 4] ?? 0));
      if (kind === 1) socket.write(Buffer.from([0x81, size, ...clear]));
      else if (kind === 8) socket.end(Buffer.from([0x88, 0]));
      rest = rest.subarray(6 + size);
    }
  });
}
