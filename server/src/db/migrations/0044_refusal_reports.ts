// The forty-fourth schema: a report of refusals that a node repeats counts once.
import type { Engine } from '../database.ts';

/** The last report of each node. As in the first: see there for `clustered`. */
export function refusalReports(engine: Engine): string[] {
  const clustered = engine === 'sqlite' ? 'without rowid' : '';
  return [
    `create table refusal_reports (
      node_id bigint primary key references nodes (id) on delete cascade,
      boot text not null,
      seq bigint not null
    ) ${clustered}`,
  ];
}
