// A reader of a database that counts the rows it has read.
import type { Reader } from '../src/db/database.ts';

export class CountingReader implements Reader {
  /** The rows that `all` has read; a test may set it to 0 again. */
  rows = 0;
  readonly #db: Reader;

  constructor(db: Reader) {
    this.#db = db;
  }
  all: Reader['all'] = async (sql, values) => {
    const rows = await this.#db.all<never>(sql, values);
    this.rows += rows.length;
    return rows;
  };
  one: Reader['one'] = (sql, values) => this.#db.one(sql, values);
}
