// Compresses files ahead of time: the server sends FILE.br and FILE.gz in the place of FILE to
// those who accept them.
import { readFileSync, writeFileSync } from 'node:fs';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';

const text = /\.(?:css|html|js|json|md|svg)$/;
const minBytes = 1000;
/** The highest quality takes ten times as long for a few bytes in a hundred. */
const largestBytesAtBest = 1_000_000;

/** Writes both beside the file, where it is text that is worth it. */
export function compressFile(path) {
  if (!text.test(path)) return;
  const bytes = readFileSync(path);
  if (bytes.length < minBytes) return;
  const quality = bytes.length > largestBytesAtBest ? 9 : 11;
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: quality,
    [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
  };
  writeFileSync(`${path}.br`, brotliCompressSync(bytes, { params }));
  writeFileSync(`${path}.gz`, gzipSync(bytes, { level: 9 }));
}
