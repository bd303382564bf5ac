// The name servers of the machine. DHCP, NetworkManager and systemd-resolved replace them at any
// time, also after the agent has started, so each engine looks again every few seconds.
import { promises as dns } from 'node:dns';

/** In order, as `/etc/resolv.conf` lists them now; its own loopback if it lists none. */
export function machineNameServers(): string[] {
  // Only a new resolver reads the file.
  return new dns.Resolver().getServers();
}
