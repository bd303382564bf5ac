// The twentieth schema: how each further hashing key stands, and indexes by hash where there is none.

/**
 * The first hashing key is none of these: `network.key_id` names it. `number`: its layer, from 2 on. `id` names the key
 * and tells nothing of it. Times in epoch seconds; it is prepared, then in use.
 */
export function hashKeys(): string[] {
  return [
    `create table hash_keys (
      number bigint primary key,
      id text not null,
      prepared_at bigint not null,
      activated_at bigint
    )`,
    'create index recovery_codes_by_hash on recovery_codes (hash)',
  ];
}
