// Geo-IP databases, MMDB files that the operator names: read, checked, searched, and read again
// when they change.
import { readFile, stat } from 'node:fs/promises';
import type { Reader, Response } from 'maxmind';
import type { Logger } from 'pino';
import { SettingsFault } from '../../../kit/src/settings.ts';

/** A file of a provider; a provider may have several, such as one for each IP version. */
export interface GeoipSource {
  provider: string;
  file: string;
}

export interface Place {
  latitude: number;
  longitude: number;
}

/** The place of an address, according to a provider's record. */
export interface GeoipRecord {
  /** ISO 3166-1 alpha-2, upper case. */
  country: string;
  /** Undefined when the record has only the country. */
  place: Place | undefined;
}

/** A place within this distance counts as the right one. */
export const nearKm = 250;

/** The state of a file, for the operator. */
export interface GeoipFile extends GeoipSource {
  /** The type that the file states, such as GeoLite2-City. */
  type: string;
  /** When its maker built it, epoch seconds. */
  built_at: number;
  /** Why the file's current content is not used, or not completely; null when all is well. */
  fault: string | null;
}

type Mmdb = Reader<Response>;
type Fields = Record<string, unknown>;

const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null;

/** Codes that stand for no country, or an unknown one. */
const nowhere = ['XX', 'ZZ'];

/**
 * Reads a record by its structure: nested as in GeoLite2 (`country.iso_code`, `location.latitude`),
 * or flat (`country_code` or `country`, `latitude` or `lat`). Undefined when it names no country.
 */
export function readRecord(record: unknown): GeoipRecord | undefined {
  if (!isFields(record)) return undefined;
  const { country, country_code } = record;
  const code = isFields(country) ? country.iso_code : (country_code ?? country);
  if (typeof code !== 'string' || !/^[A-Za-z]{2}$/.test(code)) return undefined;
  const upper = code.toUpperCase();
  return nowhere.includes(upper) ? undefined : { country: upper, place: placeOf(record) };
}

function placeOf(record: Fields): Place | undefined {
  const at = isFields(record.location) ? record.location : record;
  const latitude = degrees(at.latitude ?? at.lat, 90);
  const longitude = degrees(at.longitude ?? at.lng, 180);
  if (latitude === undefined || longitude === undefined) return undefined;
  // The middle of a country, with the country's size as the radius, or no city where others have
  // one.
  if (typeof at.accuracy_radius === 'number' && at.accuracy_radius > nearKm) return undefined;
  if (record.city === '') return undefined;
  return { latitude, longitude };
}

function degrees(value: unknown, limit: number): number | undefined {
  // Some flat files write numbers as text.
  const number = typeof value === 'string' && value !== '' ? Number(value) : value;
  return typeof number === 'number' && Math.abs(number) <= limit ? number : undefined;
}

const metadataMark = Buffer.from('\xab\xcd\xefMaxMind.com', 'latin1');
const gzipMark = Buffer.from([0x1f, 0x8b]);
const separatorBytes = 16;

/**
 * A reader of these bytes. Errors: an Error that says what is wrong with them. A file that is half
 * written or half overwritten is detected: the metadata at its end must fit the search tree at its
 * start.
 */
async function readMmdb(bytes: Buffer): Promise<Mmdb> {
  // Loaded only if there are such files.
  const { Reader } = await import('maxmind');
  if (bytes.subarray(0, 2).equals(gzipMark)) throw new Error('is compressed; unpack it first');
  const end = bytes.lastIndexOf(metadataMark);
  if (end < 0) throw new Error('is no MMDB file, or not a whole one');
  let [records, countries] = [0, 0];
  let reader: Mmdb;
  try {
    reader = new Reader(bytes);
    const { searchTreeSize, ipVersion } = reader.metadata;
    const separator = bytes.subarray(searchTreeSize, searchTreeSize + separatorBytes);
    if (!(searchTreeSize + separatorBytes <= end) || separator.some((byte) => byte !== 0)) {
      throw new Error('the search tree has another size');
    }
    for (const ip of probes(ipVersion)) {
      const record = reader.get(ip);
      if (record !== null) records += 1;
      if (readRecord(record)) countries += 1;
    }
  } catch (error) {
    throw new Error(`is damaged (${(error as Error).message})`);
  }
  if (records > 0 && countries === 0) {
    throw new Error(`names no countries (it is of type ${reader.metadata.databaseType})`);
  }
  return reader;
}

/**
 * Addresses from all over the address space, so that damage and files of another kind show at once.
 */
function* probes(ipVersion: number): Generator<string> {
  for (let part = 1; part < 224; part++) {
    yield `${part}.${part}.1.1`;
    if (ipVersion === 6) yield `2${part.toString(16).padStart(3, '0')}:${part}::1`;
  }
}

class GeoipDatabase {
  readonly source: GeoipSource;
  fault: string | null = null;
  #reader: Mmdb | undefined;
  /**
   * The signature of the version that is in use or was rejected, and the one that the last look
   * found.
   */
  #evaluated = '';
  #seen = '';

  constructor(source: GeoipSource) {
    this.source = source;
  }

  /**
   * Loads the file if it has changed; returns whether it did. A file that is being written waits
   * until two looks in a row find the same, unless `at_once`. If it is not usable, `fault` says
   * why, and the last good version stays.
   */
  async look(at_once: boolean): Promise<boolean> {
    try {
      const signature = await this.#signature();
      if (signature === this.#evaluated) return false;
      const isStill = at_once || signature === this.#seen;
      this.#seen = signature;
      if (!isStill) return false;
      const bytes = await readFile(this.source.file);
      if ((await this.#signature()) !== signature) return false;
      this.#evaluated = signature;
      this.#reader = await readMmdb(bytes);
      this.fault = null;
      return true;
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      // When it becomes readable again, it is evaluated again.
      if (code) this.#evaluated = '';
      this.fault = code ? `cannot be read (${code})` : message;
      return false;
    }
  }

  /** Changes whenever the file is replaced or written to. */
  async #signature(): Promise<string> {
    const { ino, size, mtimeMs } = await stat(this.source.file);
    return `${ino} ${size} ${mtimeMs}`;
  }

  /** Errors: any that the reader raises for damaged data. */
  find(ip: string): GeoipRecord | undefined {
    // In a file for IPv4, the reader would look up the first 32 bits of an IPv6 address.
    if (this.#reader?.metadata.ipVersion === 4 && ip.includes(':')) return undefined;
    return readRecord(this.#reader?.get(ip));
  }

  get isOpen(): boolean {
    return this.#reader !== undefined;
  }

  describe(): GeoipFile {
    const { databaseType = '', buildEpoch } = this.#reader?.metadata ?? {};
    const built_at = Math.floor((buildEpoch?.getTime() ?? 0) / 1000);
    return { ...this.source, type: databaseType, built_at, fault: this.fault };
  }

  /** As a sentence. */
  get faultSentence(): string {
    const { provider, file } = this.source;
    return `EXITWARD_GEOIP: ${file} of ${provider} ${this.fault ?? 'is being written to'}.`;
  }
}

/**
 * All databases of the settings. They stay in memory: an exit IP that is added is looked up at
 * once.
 */
export class Geoip {
  /** Each provider once, in the order of the settings. */
  readonly providers: string[];
  /** Rises when a file was reloaded: earlier lookups are outdated. */
  generation = 1;
  readonly #databases: GeoipDatabase[];
  readonly #log: Logger;

  private constructor(databases: GeoipDatabase[], log: Logger) {
    this.#databases = databases;
    this.#log = log;
    this.providers = Array.from(new Set(databases.map(({ source }) => source.provider)));
  }

  /** Errors: a SettingsFault with a sentence for each file that cannot be used, a line each. */
  static async open(sources: readonly GeoipSource[], log: Logger): Promise<Geoip> {
    const databases = sources.map((source) => new GeoipDatabase(source));
    await Promise.all(databases.map((database) => database.look(true)));
    const unusable = databases.filter(({ isOpen }) => !isOpen);
    if (unusable.length > 0) {
      throw new SettingsFault(unusable.map((source) => source.faultSentence).join('\n'));
    }
    return new Geoip(databases, log);
  }

  /**
   * Looks for changed files. A file that is being written is loaded when two looks in a row find it
   * unchanged; `at_once` does not wait for that. A file that cannot be used is logged once, and the
   * last good version stays.
   */
  async refresh({ at_once = false } = {}): Promise<void> {
    for (const database of this.#databases) {
      const { fault } = database;
      if (await database.look(at_once)) {
        this.generation += 1;
        this.#log.info(database.describe(), 'a geo-IP file was read again');
      } else if (database.fault !== fault) {
        this.#log.error(`${database.faultSentence} The last good one stays in use.`);
      }
    }
  }

  /**
   * The record of a provider for an address, from its first file that has one. `unreadable` when
   * the record is damaged, which the file's fault then reports.
   */
  find(provider: string, ip: string): GeoipRecord | undefined | 'unreadable' {
    for (const database of this.#databases) {
      if (database.source.provider !== provider) continue;
      try {
        const record = database.find(ip);
        if (record) return record;
      } catch (error) {
        if (database.fault === null)
          this.#log.error({ err: error, ip }, 'a geo-IP record is damaged');
        database.fault ??= `holds a damaged record for ${ip}`;
        return 'unreadable';
      }
    }
    return undefined;
  }

  /** The state of each file. */
  files(): GeoipFile[] {
    return this.#databases.map((database) => database.describe());
  }
}
