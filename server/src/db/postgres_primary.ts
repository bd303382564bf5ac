// The PostgreSQL server that all connections of a process must lead to: the newest one seen that
// accepts writes.
import { EventEmitter } from 'node:events';
import type pg from 'pg';
import { markStorageFault } from './faults.ts';

/**
 * Identifies a server among those that a database has lived on. A promotion or recovery raises the
 * timeline. The control file shows that only after the next checkpoint, so it is read from the name
 * of the current segment.
 */
interface Place {
  standby: boolean;
  system: string;
  timeline: string | null;
  database: string;
}

const placeQuery = `select pg_is_in_recovery() as standby,
  (select system_identifier::text from pg_control_system()) as system,
  case when not pg_is_in_recovery() then substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) end as timeline,
  (select oid::text from pg_database where datname = current_database()) as database`;

/** The reason, in one sentence, why a server cannot be relied on. */
export class Unfit extends Error {}

/** Emits `moved` when a connection leads to another server than earlier ones. */
export class Primary extends EventEmitter<{ moved: [] }> {
  #place: Place | undefined;
  readonly #admitted = new WeakMap<pg.ClientBase, Place>();

  /**
   * Checks which server a new connection leads to, and returns its name.
   * Errors: a storage fault when it is a standby, or has been replaced by one that this process has
   * seen.
   */
  async admit(client: pg.ClientBase): Promise<string> {
    const place = (await client.query<Place>(placeQuery)).rows[0] as Place;
    const lastPlace = this.#place;
    if (place.standby) throw fault('standby');
    if (lastPlace && nameOf(lastPlace) === nameOf(place)) {
      this.#admitted.set(client, lastPlace);
      return nameOf(lastPlace);
    }
    // Hexadecimal digits of the same length also sort as text.
    const isFormer =
      lastPlace?.system === place.system && (place.timeline ?? '') < (lastPlace.timeline ?? '');
    if (isFormer) throw fault('former primary');
    this.#place = place;
    this.#admitted.set(client, place);
    if (lastPlace) this.emit('moved');
    return nameOf(place);
  }

  /** Whether a connection leads to the newest server. */
  holds(client: pg.ClientBase): boolean {
    return this.#place !== undefined && this.#admitted.get(client) === this.#place;
  }
}

function nameOf({ system, timeline, database }: Place): string {
  return `${system}/${timeline}/${database}`;
}

function fault(kind: string): unknown {
  return markStorageFault(
    new Unfit(
      `The PostgreSQL server is a ${kind}; EXITWARD_DATABASE_URL must lead to the primary.`,
    ),
  );
}
