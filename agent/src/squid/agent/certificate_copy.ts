// Copies of the TLS ports' certificate for Squid's user: the operator's key may be readable by root
// only.
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { replaceDurably } from '../../../../kit/src/durable.ts';
import type { KeyPair } from '../../certificate.ts';
import type { Config } from '../../config.ts';

/**
 * Writes copies under a new name, since the configuration in force still needs the earlier ones.
 * Errors: those of the disk.
 */
export function copyCertificate(
  dir: string,
  name: string,
  { cert, key }: KeyPair,
  group: number,
): NonNullable<Config['tls']> {
  const files = { cert_file: join(dir, `tls-${name}.crt`), key_file: join(dir, `tls-${name}.key`) };
  const copies = [
    [files.cert_file, cert],
    [files.key_file, key],
  ] as const;
  for (const [path, text] of copies) {
    if (!existsSync(path) || readFileSync(path, 'utf8') !== text) replaceDurably(path, text, group);
  }
  return files;
}

/** Removes the copies that the configuration does not name; without a configuration, all. */
export function removeOldCopies(dir: string, conf: string): void {
  const text = existsSync(conf) ? readFileSync(conf, 'utf8') : '';
  for (const name of readdirSync(dir)) {
    if (/^tls-\w+\.(?:crt|key)$/.test(name) && !text.includes(name)) rmSync(join(dir, name));
  }
}
