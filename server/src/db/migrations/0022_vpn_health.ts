// The twenty-second schema: what each node says of the VPN services that it serves, and when their certificate ends.
import type { Engine } from '../database.ts';

/** A node's list is replaced as a whole. `certificate_expiry`: epoch seconds; null: it serves no VPN, or has none. */
export function vpnHealth(engine: Engine): string[] {
  const clustered = engine === 'sqlite' ? 'without rowid' : '';
  const bytewise = engine === 'sqlite' ? '' : 'collate "C"';
  return [
    `create table node_vpn_health (
      node_id bigint not null references nodes (id) on delete cascade,
      ip text ${bytewise} not null references exit_ips (ip) on delete cascade,
      service text not null,
      status text not null,
      status_time bigint not null,
      primary key (node_id, ip, service)
    ) ${clustered}`,
    'create index node_vpn_health_by_ip on node_vpn_health (ip)',
    'alter table nodes add column certificate_expiry bigint',
  ];
}
