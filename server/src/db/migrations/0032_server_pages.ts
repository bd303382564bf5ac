// The thirty-second schema: servers are sorted and searched by their places, in both databases alike.
import type { Engine } from '../database.ts';

/** PostgreSQL compares these texts as SQLite does. */
export function serverPages(engine: Engine): string[] {
  if (engine === 'sqlite') return [];
  return ['title', 'city', 'country'].map(
    (column) => `alter table servers alter column ${column} type text collate "C"`,
  );
}
