// The twenty-sixth schema: which records a manifest owns, so that its next application removes those that left the file.
import type { Engine } from '../database.ts';

/** `name`: of an account or server; `account/name` of what is inside of an account. A record has one owner. */
export function manifests(engine: Engine): string[] {
  const clustered = engine === 'sqlite' ? 'without rowid' : '';
  const bytewise = engine === 'sqlite' ? '' : 'collate "C"';
  return [
    `create table manifest_records (
      kind text ${bytewise} not null,
      name text ${bytewise} not null,
      manifest text ${bytewise} not null,
      primary key (kind, name)
    ) ${clustered}`,
    'create index manifest_records_by_manifest on manifest_records (manifest)',
  ];
}
