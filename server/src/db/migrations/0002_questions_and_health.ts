// The second schema: what operators ask the nodes, and what each node says of the exit IPs.
import type { Engine } from '../database.ts';

/** As in the first: one text for both engines, see there for `clustered` and `bytewise`. */
export function questionsAndHealth(engine: Engine): string[] {
  const clustered = engine === 'sqlite' ? 'without rowid' : '';
  const bytewise = engine === 'sqlite' ? '' : 'collate "C"';
  return [
    // The question is sealed, as it may hold a token, and null once it is answered.
    `create table node_questions (
      id bigint primary key,
      server_id bigint not null references servers (id) on delete cascade,
      sealed text,
      answer text,
      answered_by text,
      asked_at bigint not null
    )`,
    // Several nodes may serve one exit IP: its status derives from the last report of each.
    `create table node_health (
      node_id bigint not null references nodes (id) on delete cascade,
      ip text ${bytewise} not null references exit_ips (ip) on delete cascade,
      status text not null,
      status_time bigint not null,
      primary key (node_id, ip)
    ) ${clustered}`,
    'create index node_health_by_ip on node_health (ip)',
  ];
}
