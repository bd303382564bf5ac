// A line of text with its checksum in front, so that a line torn or damaged on disk is detected.
import { crc32 } from 'node:zlib';

const prefixLength = '9d1c44aa '.length;

/** The text must not contain a line feed. */
export function encodeLine(text: string): Buffer {
  const line = Buffer.from(`${' '.repeat(prefixLength)}${text}\n`);
  line.write(checksumOf(line.subarray(prefixLength, -1)), 'latin1');
  return line;
}

/** The text of a line passed without its line feed; undefined if it is damaged. */
export function decodeLine(line: Buffer): string | undefined {
  if (line.length < prefixLength) return undefined;
  if (line.toString('latin1', 0, prefixLength) !== checksumOf(line.subarray(prefixLength))) {
    return undefined;
  }
  return line.toString('utf8', prefixLength);
}

function checksumOf(bytes: Buffer): string {
  return `${crc32(bytes)
    .toString(16)
    .padStart(prefixLength - 1, '0')} `;
}
