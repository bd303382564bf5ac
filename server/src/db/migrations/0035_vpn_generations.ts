// The thirty-fifth schema: the generation of each server's VPN key.

/** The keys that nodes have by now are of generation 0. */
export function vpnGenerations(): string[] {
  return ['alter table servers add column vpn_generation bigint not null default 0'];
}
