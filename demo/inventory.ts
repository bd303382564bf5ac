// The servers of the demo, and the plan of the nodes that run for them; both of its processes know
// it.
import { readFileSync } from 'node:fs';
import type { Environment } from '../kit/src/settings.ts';
import type { NewServer } from '../server/src/servers/servers.ts';

export interface DemoServer extends NewServer {
  exit_ips: Array<{ ip: string; port_base: number }>;
}

/** A node of the demo, in the process of all of them. */
export interface PlannedNode {
  server: string;
  state_dir: string;
  /** It joins with this one first; undefined: it has joined. */
  code?: string | undefined;
}

export interface Plan {
  /** Of the node interface, without /node. */
  url: string;
  port_base: number;
  /** The one of this machine, and its settings that are not the demo's. */
  real: PlannedNode;
  node_settings?: Environment;
  simulated: PlannedNode[];
}

/**
 * Its name is the first by the alphabet: what the console and exw offer to copy first works as it
 * stands.
 */
export const realServer: DemoServer = {
  name: 'aar1',
  hostname: 'localhost',
  title: 'Aarhus',
  city: 'Aarhus',
  country: 'DK',
  latitude: 56.1567,
  longitude: 10.2108,
  services: ['proxy'],
  exit_ips: [{ ip: '127.0.0.1', port_base: 0 }],
};

/** The servers that are not on this machine. */
export function otherServers(): DemoServer[] {
  return JSON.parse(readFileSync(new URL('network.json', import.meta.url), 'utf8'));
}
