// The thirty-third schema: API tokens are sorted by name, and custom DNS entries found by the address that they point to.
import type { Engine } from '../database.ts';

/** Names are compared bytewise, as on SQLite. */
export function tokensAndAddresses(engine: Engine): string[] {
  return [
    'create index overrides_by_ip on overrides (ip, account_id, id)',
    ...(engine === 'sqlite'
      ? []
      : ['alter table api_tokens alter column name type text collate "C"']),
  ];
}
