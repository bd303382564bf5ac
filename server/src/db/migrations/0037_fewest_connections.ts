// The thirty-seventh schema: the fewest open connections in each step of a history.

/** Null: no sample, or a step from before this column. */
export function fewestConnections(): string[] {
  return ['alter table node_points add column connections_min bigint'];
}
