// The network's geofeed (RFC 8805): where each exit IP is, for geo-IP providers to fetch.
import { hash } from 'node:crypto';
import ipaddr from 'ipaddr.js';
import type { Logger } from 'pino';
import { canonicalAddress } from '../../../kit/src/address.ts';
import { networkVersion } from '../changes/changes.ts';
import type { VersionReader } from '../changes/versions.ts';
import type { Database, Reader } from '../db/database.ts';
import { exitIpsAfter, inventoryVersion, type PlacedExitIp } from '../servers/servers.ts';

export const geofeedType = 'text/csv; charset=utf-8';

const page = 1000;
// The format has its own comment lines, ends lines as CSV does, and has no quotes.
const head = [
  '# Where the exit IPs of this network are (RFC 8805).',
  '# ip_prefix,alpha2code,region,city,postal_code',
];

/**
 * The whole feed, at one moment: IPv4 first, by number. An exit that is not an address is left out,
 * and logged.
 */
export async function writeGeofeed(db: Database, log: Logger): Promise<string> {
  const lines = await db.snapshot((reader) => readLines(reader, log));
  lines.sort((a, b) => (a.order < b.order ? -1 : 1));
  return [...head, ...lines.map(({ line }) => line), ''].join('\r\n');
}

interface Line {
  order: string;
  line: string;
}

async function readLines(db: Reader, log: Logger): Promise<Line[]> {
  const lines: Line[] = [];
  for (let after: string | undefined = ''; after !== undefined; ) {
    const exits: PlacedExitIp[] = await exitIpsAfter(db, after, page);
    for (const exit of exits) {
      const ip = canonicalAddress(exit.ip);
      if (ip !== undefined) lines.push(lineOf({ ...exit, ip }));
      else log.error({ server: exit.server, ip: exit.ip }, leftOut);
    }
    after = exits.at(-1)?.ip;
    // A large network is written while requests are served.
    await new Promise((resolve) => setImmediate(resolve));
  }
  return lines;
}

const leftOut =
  'the geofeed leaves out an exit IP that is not an address; "exitward exit remove" takes it off its server';

function lineOf({ ip, country, city }: PlacedExitIp): Line {
  const bytes = Buffer.from(ipaddr.parse(ip).toByteArray());
  const prefix = `${ip}/${bytes.length * 8}`;
  // Neither the region code nor the postal code is known.
  return {
    order: `${bytes.length === 4 ? 4 : 6}${bytes.toString('hex')}`,
    line: `${prefix},${country},,${plain(city)},`,
  };
}

/**
 * A city's name without characters that end a field, begin a comment or break a line: the feed
 * cannot escape them.
 */
function plain(city: string): string {
  return city
    .replace(/[,#"\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
    .replace(/ {2,}/g, ' ')
    .trim();
}

export interface Geofeed {
  body: Buffer;
  etag: string;
}

/** The public feed: its bytes are cached until a server or an exit IP changes. */
export class CachedGeofeed {
  readonly #db: Database;
  readonly #versions: VersionReader;
  readonly #log: Logger;
  #network = -1;
  #inventory = -1;
  #feed: Promise<Geofeed> | undefined;

  constructor(db: Database, versions: VersionReader, log: Logger) {
    this.#db = db;
    this.#versions = versions;
    this.#log = log;
  }

  /** The inventory as it was when this was called, or later. */
  async current(): Promise<Geofeed> {
    // The network's version costs nothing to read, but also rises with each health report.
    const { network } = await this.#versions.current(networkVersion);
    if (this.#feed && network === this.#network) return this.#feed;
    const inventory = await inventoryVersion(this.#db);
    if (!this.#feed || inventory !== this.#inventory) {
      const feed = this.#write();
      this.#feed = feed;
      feed.catch(() => {
        if (this.#feed === feed) this.#feed = undefined;
      });
    }
    [this.#network, this.#inventory] = [network, inventory];
    return this.#feed;
  }

  async #write(): Promise<Geofeed> {
    const body = Buffer.from(await writeGeofeed(this.#db, this.#log));
    return { body, etag: `"${hash('sha1', body, 'base64url')}"` };
  }
}
