// The eighth schema: what each node says is wrong with it.
import type { Engine } from '../database.ts';

/** A list is replaced as a whole: `number` is a fault's place in it. */
export function nodeFaults(engine: Engine): string[] {
  const clustered = engine === 'sqlite' ? 'without rowid' : '';
  return [
    `create table node_faults (
      node_id bigint not null references nodes (id) on delete cascade,
      number bigint not null,
      kind text not null,
      subject text,
      message text not null,
      since bigint not null,
      primary key (node_id, number)
    ) ${clustered}`,
  ];
}
