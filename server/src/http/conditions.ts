// Entity tags, also of compressed bodies, and whether conditions name our version (RFC 9110).
import { hash } from 'node:crypto';
import type { Encoding } from './compression.ts';

/** The strong ETag of a body. */
export function etagOf(body: string | Buffer): string {
  return `"${hash('sha1', body, 'base64url')}"`;
}

/** The strong ETag of an encoded body: other bytes, another tag (RFC 9110, 8.8.3). */
export const encodedTag = (etag: string, encoding: Encoding) => etag.replace(/"$/, `-${encoding}"`);

/** The tag of the content, in whichever encoding. Tags from `etagOf` never end like this. */
export const contentTag = (etag: string) => etag.replace(/-(?:br|gzip)"$/, '"');

/** One element of the list, possibly empty, up to its comma or the end. Tags may contain commas. */
const element = /[\t ]*(?:(W\/)?("[!\x23-\x7e\x80-\xff]*")[\t ]*)?(?:,|$)/y;

/**
 * Whether the header's list of tags, or its `*`, matches `etag`. `weak` comparison (If-None-Match)
 * ignores `W/`; `strong` (If-Match) accepts no weak tag on either side. An absent or malformed
 * header matches nothing. The tag of a compressed response also names the version.
 */
export function etagMatches(
  header: string | undefined,
  etag: string,
  strength: 'weak' | 'strong',
): boolean {
  if (header === undefined) return false;
  if (header === '*') return true;
  const isWeak = etag.startsWith('W/');
  if (strength === 'strong' && isWeak) return false;
  if (header === etag) return true;
  const wanted = isWeak ? etag.slice(2) : etag;
  let matches = false;
  element.lastIndex = 0;
  while (element.lastIndex < header.length) {
    const match = element.exec(header);
    if (!match) return false;
    const [, weak, tag] = match;
    if (tag && contentTag(tag) === wanted && (strength === 'weak' || !weak)) matches = true;
  }
  return matches;
}
