// The API's documentation at /docs: works offline, from our own files, under a strict content policy.
import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { FastifyInstance } from 'fastify';
import { notFound } from '../errors.ts';

const hidden = { schema: { hide: true } };
const file = (path: string) => new URL(path, import.meta.url);

/** Telemetry, agents, fonts from elsewhere and upsell are off; nothing leaves this server. */
const start = `Scalar.createApiReference('#app', {
  url: '/docs/openapi.json',
  withDefaultFonts: false,
  telemetry: false,
  hideClientButton: true,
  showDeveloperTools: 'never',
  agent: { disabled: true },
  mcp: { disabled: true },
  documentDownloadType: 'json',
  metaData: { title: 'Exitward API' },
});`;

const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Exitward API</title>
</head>
<body>
<div id="app"></div>
<noscript><p>This page needs JavaScript. The document itself: <a href="/docs/openapi.json">/docs/openapi.json</a></p></noscript>
<script src="/docs/reference.js"></script>
<script>${start}</script>
</body>
</html>
`;

const contentPolicy = [
  "default-src 'none'",
  `script-src 'self' 'sha256-${hash('sha256', start, 'base64')}'`,
  // The reference sets styles from script; styles cannot run code.
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

export function docsRoutes(app: FastifyInstance): void {
  app.get('/docs', hidden, async (_request, reply) =>
    reply
      .header('content-security-policy', contentPolicy)
      .header('referrer-policy', 'no-referrer')
      .type('text/html; charset=utf-8')
      .send(html),
  );
  serveFile(app, '/docs/openapi.json', '../../openapi.json', 'application/json; charset=UTF-8');
  serveFile(app, '/docs/reference.js', '../../vendor/api-reference.js', 'text/javascript; charset=utf-8');
}

/** Serves one file, read when first asked for. */
function serveFile(app: FastifyInstance, path: string, source: string, type: string): void {
  let bytes: Buffer | undefined;
  app.get(path, hidden, async (_request, reply) => {
    try {
      bytes ??= readFileSync(file(source));
    } catch {
      throw notFound(`This installation does not hold ${path}.`);
    }
    return reply.header('cache-control', 'public, max-age=3600').type(type).send(bytes);
  });
}
