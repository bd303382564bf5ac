// The name servers of the machine. DHCP, NetworkManager and systemd-resolved replace them at any
// time, also after the agent has started, so each engine looks again every few seconds.
import { promises as dns } from 'node:dns';

/** In the order of `/etc/resolv.conf`, read now; loopback if it lists none. */
export function machineNameServers(): string[] {
  // Only a new resolver reads the file.
  return new dns.Resolver().getServers();
}
