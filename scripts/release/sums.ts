// Checksums of files, as sha256sum writes and checks them.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export function sumsOf(folder: string, names: readonly string[]): string {
  return names
    .map((name) => {
      const sum = createHash('sha256')
        .update(readFileSync(join(folder, name)))
        .digest('hex');
      return `${sum}  ${name}\n`;
    })
    .join('');
}
