// Copies the API documentation page's one browser file into server/vendor/, so that the server can
// serve it offline.
//
// The file is Scalar's standalone build. The package it comes from by name, @scalar/api-reference,
// pulls in 250 MB that the file does not need; its Fastify plugin carries the same file, byte for
// byte, with 30 MB, and serves it: here it is asked for it once. Only this script knows that.
import { copyFileSync, existsSync, mkdirSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { argv } from 'node:process';
import { fileURLToPath } from 'node:url';
import { compressFile } from './compressed.mjs';

const fromServer = createRequire(new URL('../server/package.json', import.meta.url));
const target = fileURLToPath(new URL('../server/vendor/api-reference.js', import.meta.url));
const license = fileURLToPath(new URL('../server/vendor/api-reference.LICENSE', import.meta.url));
const source = () => fileURLToPath(import.meta.resolve('@scalar/fastify-api-reference'));

/** Whether the copy is missing or older than the installed package. */
export function isVendorStale() {
  return (
    [target, `${target}.br`].some((path) => !existsSync(path)) ||
    statSync(target).mtimeMs < statSync(source()).mtimeMs
  );
}

/** Writes the copy. Raises an Error when the plugin no longer serves the file where it did. */
export async function vendor() {
  const { default: plugin } = await import('@scalar/fastify-api-reference');
  const app = fromServer('fastify')();
  await app.register(plugin, { configuration: { url: '/openapi.json' } });
  const answer = await app.inject('/reference/js/scalar.js');
  await app.close();
  if (answer.statusCode !== 200 || answer.rawPayload.length < 1_000_000) {
    throw new Error(`@scalar/fastify-api-reference serves no browser file (${answer.statusCode})`);
  }
  mkdirSync(dirname(target), { recursive: true });
  copyFileSync(
    new URL('../LICENSE', import.meta.resolve('@scalar/fastify-api-reference')),
    license,
  );
  // Renamed into place: a server that is starting never reads half a file.
  writeFileSync(`${target}.${process.pid}`, answer.rawPayload);
  renameSync(`${target}.${process.pid}`, target);
  compressFile(target);
}

if (argv[1] === fileURLToPath(import.meta.url) && isVendorStale()) await vendor();
