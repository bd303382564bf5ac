// Puts into the server's package what it serves beside its source: the documentation page's file, and the OpenAPI document.
import { copyFileSync } from 'node:fs';
import { isVendorStale, vendor } from './vendor.mjs';

if (isVendorStale()) await vendor();
copyFileSync(
  new URL('../docs/openapi.json', import.meta.url),
  new URL('../server/openapi.json', import.meta.url),
);
