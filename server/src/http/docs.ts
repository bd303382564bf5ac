// The API's documentation at /docs: offline, from our own files, under a strict content policy.
import { hash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { notFound } from '../errors.ts';
import { packageFolder } from '../values/version.ts';
import { StaticFile } from './static_file.ts';

/** Telemetry, agents, fonts from elsewhere and upsell are off; nothing leaves this server. */
const startOf = (scheme: string) => `Scalar.createApiReference('#app', {
  url: '/docs/openapi.json',
  baseServerURL: location.origin,
  withDefaultFonts: false,
  telemetry: false,
  hideClientButton: true,
  showDeveloperTools: 'never',
  agent: { disabled: true },
  mcp: { disabled: true },
  documentDownloadType: 'json',
  authentication: { preferredSecurityScheme: '${scheme}' },
  persistAuth: false,
  metaData: { title: 'Exitward API' },
});`;

const htmlOf = (start: string) =>
  Buffer.from(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Exitward API</title>
<link rel="icon" href="data:,">
</head>
<body>
<div id="app"></div>
<noscript><p>This page needs JavaScript. The document itself: <a href="/docs/openapi.json">/docs/openapi.json</a></p></noscript>
<script src="/docs/reference.js"></script>
<script>${start}</script>
</body>
</html>
`);

const contentPolicyOf = (start: string) =>
  [
    "default-src 'none'",
    `script-src 'self' 'sha256-${hash('sha256', start, 'base64')}'`,
    // The reference sets styles from a script; styles cannot run code.
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data:",
    "font-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');

/** By reader: the group of operations that the page begins with, and the scheme of its tokens. */
const interfaces = {
  account: { group: 'Account API', scheme: 'api_token' },
  operator: { group: 'Operator API', scheme: 'operator_token' },
};

/** `reader`: who reads it at this listener. */
export function docsRoutes(app: FastifyInstance, reader: keyof typeof interfaces): void {
  const { group, scheme } = interfaces[reader];
  const start = startOf(scheme);
  const html = htmlOf(start);
  const contentPolicy = contentPolicyOf(start);
  app.get('/docs', async (_request, reply) =>
    reply
      .header('content-security-policy', contentPolicy)
      .header('referrer-policy', 'no-referrer')
      .type('text/html; charset=utf-8')
      .send(html),
  );
  // In the checkout, the committed document; in the package, the copy that packing makes of it.
  const documents = ['../docs/openapi.json', 'openapi.json'];
  const edit = reader === 'account' ? undefined : (content: Buffer) => beginWith(group, content);
  serveFile(app, '/docs/openapi.json', documents, 'application/json; charset=UTF-8', edit);
  const script = ['vendor/api-reference.js'];
  serveFile(app, '/docs/reference.js', script, 'text/javascript; charset=utf-8');
}

/** The document with this group of operations first. */
function beginWith(group: string, content: Buffer): Buffer {
  const document = JSON.parse(content.toString()) as { 'x-tagGroups': Array<{ name: string }> };
  const isFirst = ({ name }: { name: string }) => name === group;
  const groups = document['x-tagGroups'];
  const ordered = [...groups.filter(isFirst), ...groups.filter((other) => !isFirst(other))];
  return Buffer.from(JSON.stringify({ ...document, 'x-tagGroups': ordered }));
}

/** Serves the first of these files, paths in the package, that exists at the first request. */
function serveFile(
  app: FastifyInstance,
  path: string,
  sources: string[],
  type: string,
  edit?: (content: Buffer) => Buffer,
): void {
  let served: StaticFile | undefined;
  app.get(path, async (request, reply) => {
    const paths = sources.map((source) => join(packageFolder, source));
    const firstFile = served ? undefined : paths.find((file) => existsSync(file));
    if (firstFile) {
      const headers = { 'cache-control': 'public, max-age=3600', 'content-type': type };
      served = new StaticFile(firstFile, headers, edit);
    }
    if (!served) throw notFound(`This installation does not hold ${path}.`);
    return served.send(request, reply);
  });
}
