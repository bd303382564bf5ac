// Geo-IP statuses: where third-party databases locate each exit IP, compared with the location of
// its server.
import { bumpVersion, networkVersion } from '../changes/changes.ts';
import type { Clock } from '../clock.ts';
import type { Actor, Database, Reader, Transaction } from '../db/database.ts';
import { exitIpsAfter, inventoryVersion } from '../servers/servers.ts';
import { type Geoip, type GeoipRecord, nearKm, type Place } from '../values/geoip.ts';
import * as store from './store.ts';

/**
 * Where one provider locates one exit IP: the country, the distance from the server, and whether
 * they match.
 */
export type GeoStatus = store.GeoStatusRow;
export {
  geoStatusesOfContract,
  geoStatusesOfServer,
  listGeoStatuses,
  setGeoStatuses,
} from './store.ts';

export const geoStatuses = ['ok', 'warn', 'crit'] as const;

/** Mean radius of the earth. */
const earthKm = 6371.009;

/** Along a great circle, to a tenth of a kilometre. */
export function distanceInKm(start: Place, end: Place): number {
  const radians = (degrees: number) => (degrees * Math.PI) / 180;
  const halfSine = (from: number, to: number) => Math.sin(radians(to - from) / 2) ** 2;
  const chord =
    halfSine(start.latitude, end.latitude) +
    Math.cos(radians(start.latitude)) *
      Math.cos(radians(end.latitude)) *
      halfSine(start.longitude, end.longitude);
  // Rounding may bring opposite points a little above 1, where the arc sine has no value.
  return Math.round(2 * earthKm * Math.asin(Math.sqrt(Math.min(1, chord))) * 10) / 10;
}

/**
 * `ok`: the server's country, and at most 250 km away if the record has a place; `warn`: its
 * country, but farther; `crit`: another country. Without a place in the record there is no
 * distance.
 */
export function comparePlaces(
  server: Place & { country: string },
  record: GeoipRecord,
): { status: (typeof geoStatuses)[number]; distance_km: number | null } {
  const distance_km = record.place ? distanceInKm(server, record.place) : null;
  if (record.country !== server.country) return { status: 'crit', distance_km };
  return { status: (distance_km ?? 0) > nearKm ? 'warn' : 'ok', distance_km };
}

export interface GeoCounts {
  provider: string;
  ok: number;
  warn: number;
  crit: number;
  /** Exit IPs without a record. */
  no_record: number;
  /** Exit IPs whose record is damaged; their statuses stay. */
  unreadable: number;
}

interface Plan {
  last: string;
  exit_ips: number;
  put: GeoStatus[];
  gone: GeoStatus[];
  counts: GeoCounts[];
}

const checker: Actor = { kind: 'system', name: 'geo check', address: '', request_id: '' };
/** Exit IPs per transaction: other writers never wait long. */
const batch = 500;
/** A status of this age is written again, so that its time shows that it is still valid. */
const refreshedSeconds = 86_400;

const noCounts = (provider: string): GeoCounts => ({
  provider,
  ok: 0,
  warn: 0,
  crit: 0,
  no_record: 0,
  unreadable: 0,
});

/**
 * The statuses to write and to remove of the exit IPs after `after`; undefined when none follows.
 */
async function plan(
  db: Reader,
  geoip: Geoip,
  after: string,
  now: number,
): Promise<Plan | undefined> {
  const exits = await exitIpsAfter(db, after, batch);
  const last = exits.at(-1)?.ip;
  if (last === undefined) return undefined;
  const statusOf = new Map<string, GeoStatus>();
  for (const row of await store.statusesBetween(db, after, last)) {
    statusOf.set(`${row.ip} ${row.provider}`, row);
  }
  const put: GeoStatus[] = [];
  const counts = geoip.providers.map((provider) => {
    const count = noCounts(provider);
    for (const exit of exits) {
      const key = `${exit.ip} ${provider}`;
      const before = statusOf.get(key);
      const record = geoip.find(provider, exit.ip);
      if (record === undefined) {
        count.no_record += 1;
        continue;
      }
      // Statuses that are left in `statusOf` at the end are gone.
      statusOf.delete(key);
      if (record === 'unreadable') {
        count.unreadable += 1;
        continue;
      }
      const compared = comparePlaces(exit, record);
      count[compared.status] += 1;
      const row = { ip: exit.ip, provider, ...compared, country: record.country, status_time: now };
      if (!before || isOutdated(before, row)) put.push(row);
    }
    return count;
  });
  return { last, exit_ips: exits.length, put, gone: Array.from(statusOf.values()), counts };
}

function isOutdated(before: GeoStatus, now: GeoStatus): boolean {
  return (
    before.status !== now.status ||
    before.country !== now.country ||
    before.distance_km !== now.distance_km ||
    Math.abs(now.status_time - before.status_time) >= refreshedSeconds
  );
}

async function carryOut(tx: Transaction, { put, gone }: Plan): Promise<void> {
  if (put.length + gone.length === 0) return;
  await store.setGeoStatuses(tx, put);
  for (const { ip, provider } of gone) await store.removeGeoStatus(tx, ip, provider);
  await bumpVersion(tx, networkVersion);
}

export interface GeoOutcome {
  exit_ips: number;
  /** Statuses that were written or removed, including those whose time alone was renewed. */
  written: number;
  providers: GeoCounts[];
}

/**
 * Looks up every exit IP with every provider and stores the changes, a batch at a time; removes
 * statuses of providers that are not in the settings. Several processes may do this at the same
 * time. Stops after a batch when `stopped` returns true.
 */
export async function checkGeo(
  db: Database,
  geoip: Geoip,
  now: number,
  stopped = () => false,
): Promise<GeoOutcome> {
  const outcome: GeoOutcome = {
    exit_ips: 0,
    written: 0,
    providers: geoip.providers.map(noCounts),
  };
  for (let after = ''; !stopped(); ) {
    let page = await plan(db, geoip, after, now);
    if (!page) break;
    if (page.put.length + page.gone.length > 0) {
      const from = after;
      page = await db.write(checker, async (tx) => {
        // Planned again, because an exit IP or a server may have changed since.
        const current = await plan(tx, geoip, from, tx.now);
        if (current) await carryOut(tx, current);
        return current;
      });
      if (!page) break;
    }
    outcome.exit_ips += page.exit_ips;
    outcome.written += page.put.length + page.gone.length;
    for (const [at, count] of page.counts.entries()) addTo(outcome.providers[at], count);
    after = page.last;
    // Other work first: a large network is checked while requests are served.
    await new Promise((resolve) => setImmediate(resolve));
  }
  return outcome;
}

function addTo(sum: GeoCounts | undefined, { provider: _, ...counts }: GeoCounts): void {
  if (!sum) return;
  for (const [name, count] of Object.entries(counts)) sum[name as keyof typeof counts] += count;
}

const recheckSeconds = 3600;

/** Checks again when a file, the inventory or a setting changed, and every hour. */
export class GeoWatch {
  readonly #db: Database;
  readonly #geoip: Geoip;
  readonly #clock: Clock;
  #checked: { generation: number; inventory: number; at: number } | undefined;

  constructor(db: Database, geoip: Geoip, clock: Clock) {
    this.#db = db;
    this.#geoip = geoip;
    this.#clock = clock;
  }

  /**
   * Returns how many statuses were written. Without a provider in the settings it changes nothing.
   */
  async look(stopped?: () => boolean): Promise<number> {
    if (this.#geoip.providers.length === 0) return 0;
    await this.#geoip.refresh();
    const now = this.#clock.now();
    // Read before the check, so that a change during it is seen next time.
    const { generation } = this.#geoip;
    const inventory = await inventoryVersion(this.#db);
    const last = this.#checked;
    const holds =
      last?.generation === generation &&
      last.inventory === inventory &&
      Math.abs(now - last.at) < recheckSeconds;
    if (holds) return 0;
    const { written } = await checkGeo(this.#db, this.#geoip, now, stopped);
    this.#checked = { generation, inventory, at: now };
    return written;
  }
}
