// The twenty-ninth schema: what nodes did over time, in steps of minutes and hours, by node and for the whole network.
import type { Engine } from '../database.ts';

/**
 * `node_id` 0: the whole network. `step` in seconds, `at` its start. `samples`: how many looks at the connections
 * `connections` is the sum of. `counts` is JSON: what a node told last, in a run of its agent.
 */
export function nodePoints(engine: Engine): string[] {
  const clustered = engine === 'sqlite' ? 'without rowid' : '';
  const bytewise = engine === 'sqlite' ? '' : 'collate "C"';
  const place = 'node_id bigint not null, step bigint not null, at bigint not null';
  return [
    `create table node_points (
      ${place},
      up bigint not null,
      down bigint not null,
      samples bigint not null,
      connections bigint not null,
      connections_peak bigint not null,
      lag_peak bigint not null,
      faults_peak bigint not null,
      primary key (node_id, step, at)
    ) ${clustered}`,
    'create index node_points_by_age on node_points (step, at)',
    `create table node_rejections (
      ${place},
      reason text ${bytewise} not null,
      count bigint not null,
      primary key (node_id, step, at, reason)
    ) ${clustered}`,
    'create index node_rejections_by_age on node_rejections (step, at)',
    `create table node_told_rejections (
      node_id bigint primary key references nodes (id) on delete cascade,
      boot text ${bytewise} not null,
      counts text not null
    )`,
    'alter table network add column sampled_at bigint not null default 0',
  ];
}
