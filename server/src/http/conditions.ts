// Entity tags, also of compressed bodies, and whether conditions name our version (RFC 9110).
import { hash } from 'node:crypto';
import type { Encoding } from './compression.ts';

/** The strong ETag of a body. */
export function etagOf(body: string | Buffer): string {
  return `"${hash('sha1', body, 'base64url')}"`;
}

/** The strong ETag of an encoded body: other bytes, another tag (RFC 9110, 8.8.3). */
export const encodedTag = (etag: string, encoding: Encoding) => etag.replace(/"$/, `-${encoding}"`);

/**
 * The tag of the content, in whichever encoding: of ours, or of a proxy's that names its own in the
 * same way. Tags from `etagOf` never end like this.
 */
export const contentTag = (etag: string) => etag.replace(/-(?:br|gzip|zstd|deflate)"$/, '"');

/** One element of the list, possibly empty, up to its comma or the end. Tags may contain commas. */
const element = /[\t ]*(?:(?:W\/)?("[!\x23-\x7e\x80-\xff]*")[\t ]*)?(?:,|$)/y;

/**
 * Whether the header's list of tags, or its `*`, names the version with our strong tag `etag`, for
 * If-None-Match and If-Match alike. A weak tag names it, too: proxies that compress make ours weak,
 * and a version has one content only (docs/decisions/0088-weak-tags.md). So does the tag of a
 * compressed response. An absent or malformed header names nothing.
 */
export function etagMatches(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false;
  if (header === '*' || header === etag) return true;
  let matches = false;
  element.lastIndex = 0;
  while (element.lastIndex < header.length) {
    const match = element.exec(header);
    if (!match) return false;
    const tag = match[1];
    if (tag && contentTag(tag) === etag) matches = true;
  }
  return matches;
}
