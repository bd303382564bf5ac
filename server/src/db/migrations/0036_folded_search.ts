// The thirty-sixth schema: searches find letters of any alphabet, in either case.
import type { Engine } from '../database.ts';

/**
 * `folded`: the text that searches compare; SQLite has it from the program (`folded.ts`). A PostgreSQL without ICU lowers the
 * letters that its locale knows.
 */
export function foldedSearch(engine: Engine): string[] {
  if (engine === 'sqlite') return [];
  return [
    `do $$
     declare
       icu text := (select 'collate "und-x-icu"' from pg_collation where collname = 'und-x-icu' limit 1);
     begin
       execute format(
         'create function folded(t text) returns text language sql immutable strict parallel safe
            as $f$ select replace(lower(normalize(t, NFC) %s), ''ς'', ''σ'') $f$', coalesce(icu, ''));
     end $$`,
  ];
}
