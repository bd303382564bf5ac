// The console at `/`: files that the build made, served to browsers under a strict content policy.
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Context } from '../context.ts';
import { notFound } from '../errors.ts';
import { etagMatches, etagOf } from './conditions.ts';

const folder = fileURLToPath(new URL('../../console/', import.meta.url));
const hidden = { schema: { hide: true } };

const contentTypes: Record<string, string> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
  woff2: 'font/woff2',
  md: 'text/plain; charset=utf-8',
};

/** Everything comes from this server, nothing is written in place, and no other site may frame it. */
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

/** For a year no browser speaks to this host without TLS. Sent where TLS is ours, else the proxy may send it. */
const tlsAlone = { 'strict-transport-security': 'max-age=31536000' };

/** Serves the console, where this installation holds it. */
export function pageRoutes(app: FastifyInstance, { config }: Context): void {
  const headers = config.tls ? { ...safety, ...tlsAlone } : safety;
  const names = builtFiles();
  for (const name of names) {
    const file = new StaticFile(name, headers);
    app.get(name === 'index.html' ? '/' : `/${name}`, hidden, (request, reply) =>
      file.send(request, reply),
    );
  }
  if (names.includes('index.html')) return;
  app.get('/', hidden, async (_, reply) => {
    reply.headers(headers);
    throw notFound(
      'This installation does not hold the console; npm run build -w console makes it. The API is at /v0, its documentation at /docs.',
    );
  });
}

/** Paths below the folder, with slashes; none where nothing was built. */
function builtFiles(): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => statSync(join(folder, name)).isFile())
    .map((name) => name.replaceAll('\\', '/'));
}

interface Encoded {
  identity: Buffer;
  gzip: Buffer;
  br: Buffer;
}

/** One file: read and compressed when it is first requested, then held in memory. */
class StaticFile {
  readonly #name: string;
  readonly #safety: Record<string, string>;
  #etag = '';
  #bodies: Promise<Encoded> | undefined;

  constructor(name: string, safety: Record<string, string>) {
    this.#name = name;
    this.#safety = safety;
  }

  async send(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    this.#bodies ??= this.#read();
    const bodies = await this.#bodies;
    reply.headers({
      ...this.#safety,
      etag: this.#etag,
      vary: 'accept-encoding',
      // A file that the build named by its content never changes; the page itself is asked for each time.
      'cache-control': this.#name.startsWith('assets/')
        ? 'public, max-age=31536000, immutable'
        : 'no-cache',
    });
    if (etagMatches(request.headers['if-none-match'], this.#etag, 'weak')) {
      return reply.code(304).send();
    }
    const encoding = preferredEncoding(request.headers['accept-encoding']);
    if (encoding !== 'identity') reply.header('content-encoding', encoding);
    const extension = this.#name.slice(this.#name.lastIndexOf('.') + 1);
    return reply.type(contentTypes[extension] ?? 'application/octet-stream').send(bodies[encoding]);
  }

  async #read(): Promise<Encoded> {
    const identity = readFileSync(join(folder, this.#name));
    this.#etag = etagOf(identity);
    return {
      identity,
      gzip: await promisify(gzip)(identity),
      br: await promisify(brotliCompress)(identity, {
        params: { [constants.BROTLI_PARAM_QUALITY]: 9 },
      }),
    };
  }
}

function preferredEncoding(accepted: string | string[] | undefined): keyof Encoded {
  const words = String(accepted ?? '')
    .split(',')
    .map((word) => word.trim())
    .filter((word) => !/;\s*q=0(\.0*)?$/.test(word))
    .map((word) => word.replace(/;.*$/, '').toLowerCase());
  if (words.includes('br')) return 'br';
  return words.includes('gzip') ? 'gzip' : 'identity';
}
