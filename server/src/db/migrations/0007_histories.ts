// The seventh schema: the network knows which PostgreSQL server its history was written by, and which ids a lost one may have used.

/**
 * `history` names the server, as db/postgres_primary.ts tells it; null on SQLite, and until the first write.
 * Ids and token versions up to `id_floor` may have been given in a history that was lost.
 */
export function histories(): string[] {
  return [
    'alter table network add column history text',
    'alter table network add column id_floor bigint not null default 0',
  ];
}
