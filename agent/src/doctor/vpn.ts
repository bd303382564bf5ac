// The VPN: what the machine lacks for it, which is a fault only where the server has a VPN service.
import { servedServices } from '../vpn/connections.ts';
import { findLack, findTakenPort } from '../vpn/machine.ts';
import { type Check, fault, type Outcome, ok, type Subject } from './check.ts';

export const vpnChecks: Check[] = [{ name: 'vpn', run: vpn }];

async function vpn({ config, server, status }: Subject): Promise<Outcome> {
  if (config.vpn.mode === 'off') return ok('The VPN is off (EXITWARD_AGENT_VPN).');
  const isWanted = server !== undefined && servedServices(server).length > 0;
  // Where the agent runs with a VPN, its own charon has the ports.
  const lack = findLack(config.vpn) ?? (status && isWanted ? undefined : await findTakenPort());
  if (!lack) return ok('This machine has what a VPN needs.');
  if (!isWanted) return ok(`No VPN is served here, and for one ${lack.sentence}.`);
  return fault(`The VPN of ${server.name} is not served: ${lack.sentence}.`, lack.remedy);
}
