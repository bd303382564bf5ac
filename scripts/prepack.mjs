// Makes what the server's package holds beside its launcher: JavaScript (Node runs no TypeScript
// below node_modules), the console, the documentation page's file, and the OpenAPI document.
import { execFileSync } from 'node:child_process';
import { copyFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { buildConsole } from './console.mjs';
import { isVendorStale, vendor } from './vendor.mjs';

if (isVendorStale()) await vendor();
buildConsole({ quiet: true });
copyFileSync(
  new URL('../docs/openapi.json', import.meta.url),
  new URL('../server/openapi.json', import.meta.url),
);
const root = fileURLToPath(new URL('..', import.meta.url));
// Types are checked by `npm run check`.
const options = ['--project', 'server/tsconfig.pack.json', '--noCheck'];
execFileSync(`${root}/node_modules/.bin/tsc`, options, { cwd: root, stdio: 'inherit' });
