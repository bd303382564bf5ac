// The console at `/`: the files of the build, served to browsers under a strict content policy.
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Context } from '../context.ts';
import { notFound } from '../errors.ts';
import { packageFolder } from '../values/version.ts';
import { isUnder } from './routing.ts';
import { StaticFile } from './static_file.ts';

const folder = join(packageFolder, 'console');

const contentTypes: Record<string, string> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
  woff2: 'font/woff2',
  md: 'text/plain; charset=utf-8',
};

/** Everything comes from this server, nothing is inline, and no other site may frame it. */
const contentPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "font-src 'self'",
  "connect-src 'self'",
  "manifest-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');

const safety = {
  'content-security-policy': contentPolicy,
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'permissions-policy': 'camera=(), geolocation=(), microphone=()',
  'x-frame-options': 'DENY',
};

/** Browsers use only TLS with this host for a year. Sent if TLS is ours, else by the proxy. */
const tlsAlone = { 'strict-transport-security': 'max-age=31536000' };

/** Addresses that people type, and the page that they mean. */
const guessed = new Map([
  ['/console', '/'],
  ['/console/', '/'],
  ['/docs/', '/docs'],
]);

/** Serves the console, if this installation contains it. */
export function pageRoutes(app: FastifyInstance, { config }: Context): void {
  const headers = config.tls ? { ...safety, ...tlsAlone } : safety;
  const names = builtFiles();
  const fileOf = (name: string) =>
    new StaticFile(join(folder, name), { ...headers, ...ownHeaders(name) });
  app.addHook('onRequest', async (request, reply) => {
    const page = guessed.get(request.raw.url as string);
    if (page !== undefined && wantsPage(request)) return reply.redirect(page);
  });
  // One route for all of them: they would be a third of all routes and of their start-up time.
  const assets = new Map(names.filter(isAsset).map((name) => [name, fileOf(name)]));
  app.get<{ Params: { name: string } }>('/assets/:name', async (request, reply) => {
    const file = assets.get(`assets/${request.params.name}`);
    return file ? file.send(request, reply) : reply.callNotFound();
  });
  for (const name of names.filter((page) => !isAsset(page))) {
    const file = fileOf(name);
    app.get(name === 'index.html' ? '/' : `/${name}`, async (request, reply) =>
      file.send(request, reply),
    );
  }
  if (names.includes('index.html')) return;
  app.get('/', async (_, reply) => {
    reply.headers(headers);
    throw notFound(
      'This installation does not hold the console; npm run build -w console makes it. The API is at /v0, its documentation at /docs.',
    );
  });
}

const audiences = ['/v0', '/admin', '/console', '/node', '/docs', '/assets'];

/**
 * The console's page that a browser means by a path without `#`, such as `/servers`; undefined for
 * other clients, and where there is no console.
 */
export function pageMeant(request: FastifyRequest): string | undefined {
  const isOther = audiences.some((prefix) => isUnder(prefix, request));
  return wantsPage(request) && !isOther && existsSync(join(folder, 'index.html'))
    ? `/#${request.raw.url}`
    : undefined;
}

/** Whether a browser asks, to show what it gets. */
const wantsPage = ({ headers, method }: FastifyRequest) =>
  method === 'GET' && headers.accept?.includes('text/html');

const isAsset = (name: string) => name.startsWith('assets/');

function ownHeaders(name: string): Record<string, string> {
  const extension = name.slice(name.lastIndexOf('.') + 1);
  return {
    'content-type': contentTypes[extension] ?? 'application/octet-stream',
    // A file named by its content never changes; the page itself is requested each time.
    'cache-control': isAsset(name) ? 'public, max-age=31536000, immutable' : 'no-cache',
  };
}

/** Paths below the folder, with slashes; none without a build. Compressed ones follow theirs. */
function builtFiles(): string[] {
  return ['', 'assets/'].flatMap((below) => {
    if (!existsSync(join(folder, below))) return [];
    return readdirSync(join(folder, below), { withFileTypes: true })
      .filter((entry) => !/\.(?:br|gz)$/.test(entry.name) && !entry.isDirectory())
      .map(({ name }) => `${below}${name}`);
  });
}
