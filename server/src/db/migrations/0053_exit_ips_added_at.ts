// The fifty-third schema: since when an exit IP has been on its server.
import type { Engine } from '../database.ts';

/** Null: an older process added it. Those that are there have been there at least since now. */
export function exitIpsAddedAt(engine: Engine): string[] {
  const now =
    engine === 'sqlite'
      ? "cast(strftime('%s', 'now') as integer)"
      : 'cast(extract(epoch from now()) as bigint)';
  return [
    'alter table exit_ips add column added_at bigint',
    `update exit_ips set added_at = ${now}`,
  ];
}
