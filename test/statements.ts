// Before each file of tests of the server: PostgreSQL is to take each statement that the file makes
// on SQLite, and to answer numbers. Each has a value for each of its placeholders, which SQLite
// itself does not require.
import pg from 'pg';
import { afterAll, inject } from 'vitest';
import { Connection } from '../server/src/db/sqlite_connection.ts';

/**
 * The statements that PostgreSQL does not prepare: changes of the schema, SQLite's own tables,
 * plans, settings and files, the table `marks` that tests make, and one that a migration drops
 * again.
 */
const own =
  /^\s*(alter|create|drop|pragma|vacuum|explain|begin|commit|rollback|savepoint|release)\b|\bsqlite_|\btotal_changes\(|\b(marks|usage_\w+_fill)\b/i;
/** Of the one that is prepared. */
const resultTypes = 'select unnest(result_types)::text as type from pg_prepared_statements';
/**
 * The connections on which rows come in the opposite order wherever a statement asks for none, as
 * PostgreSQL's may.
 */
const reversed = new WeakSet<Connection>();
const noted = Symbol.for('statements are noted');

const { prototype } = Connection as unknown as { prototype: Record<string | symbol, unknown> };
/**
 * The statements of this thread, by their text, and whether PostgreSQL has prepared them. Vitest
 * runs this file again for each test file: kept where all of them find it.
 */
const statements = (prototype[noted] as Map<string, boolean> | undefined) ?? new Map();
if (!prototype[noted]) {
  prototype[noted] = statements;
  for (const name of ['rows', 'row', 'change'] as const) {
    const method = Connection.prototype[name] as (sql: string, values?: unknown) => unknown;
    prototype[name] = function (this: Connection, sql: string, values: readonly unknown[] = []) {
      if (!statements.has(sql)) statements.set(sql, own.test(sql));
      const places = Math.max(0, ...Array.from(sql.matchAll(/\$(\d+)/g), ([, n]) => Number(n)));
      if (places !== values.length) {
        throw new Error(`${values.length} values for ${places} placeholders: ${sql}`);
      }
      if (!reversed.has(this)) {
        reversed.add(this);
        this.exec('pragma reverse_unordered_selects = on');
      }
      return method.call(this, sql, values);
    };
  }
}

afterAll(async () => {
  const unprepared = [...statements].filter(([, isPrepared]) => !isPrepared).map(([sql]) => sql);
  if (unprepared.length === 0) return;
  const client = new pg.Client({ connectionString: inject('postgresStatements') });
  await client.connect();
  const refused: string[] = [];
  for (const sql of unprepared) {
    statements.set(sql, true);
    await client.query(`prepare one as ${sql}`).then(
      async () => {
        const { rows } = await client.query(resultTypes);
        if (rows.some(({ type }) => type === 'numeric')) {
          refused.push(`to answer a number (numeric is a text): ${sql}`);
        }
        await client.query('deallocate one');
      },
      (error: Error) => refused.push(`${error.message}: ${sql}`),
    );
  }
  await client.end();
  if (refused.length > 0) throw new Error(`PostgreSQL refuses ${refused.join('\n')}`);
});
