// Servers on the pages: their state in words, and their ports; pure.
import type { AccountResponse } from '../api/reading.ts';
import { health } from '../ui/health.ts';
import type { Tone } from '../ui/ui.ts';

/** A server of the contract, with its exit IPs. */
export type OwnServer = AccountResponse<'list_servers'>[number];
/** A server of the network, with its state if it is on the contract. */
export type NetworkServer = AccountResponse<'list_network'>[number];
export type ExitIp = OwnServer['ips'][number];
type Nodes = OwnServer['nodes'];

/** The exit IPs of a server by their status. */
export type Exits = NonNullable<NetworkServer['own']>['exits'];

/** The states of servers in filters: that of the exit IPs matters only with an online node. */
export const states = {
  ...health,
  not_connected: 'no node online',
  no_node: 'no node yet',
} as const;
export type State = keyof typeof states;

/** Filters by other problems that may need attention. */
export const stateFilters = {
  ...states,
  misplaced: 'in another country',
  over_limit: 'over its own limit',
} as const;

export const toneOf: Record<State, Tone> = {
  ok: 'good',
  warn: 'warn',
  crit: 'bad',
  unknown: 'neutral',
  not_connected: 'bad',
  no_node: 'neutral',
};

/** The ports of the services that the server offers; the port scheme may have more. */
export function portsOf(
  { services }: Pick<OwnServer, 'services'>,
  { ports }: Pick<ExitIp, 'ports'>,
): ExitIp['ports'] {
  return ports.filter(({ service }) => services.includes(service));
}

/** The reason why the server accepts nothing; undefined when a node is online. */
export function unserved({ all, live }: Nodes): State | undefined {
  if (all === 0) return 'no_node';
  return live === 0 ? 'not_connected' : undefined;
}

export function exitsOf({ ips }: { ips: ReadonlyArray<{ status: keyof Exits }> }): Exits {
  const exits = { ok: 0, warn: 0, crit: 0, unknown: 0 };
  for (const { status } of ips) exits[status] += 1;
  return exits;
}

const worstFirst = ['crit', 'warn', 'unknown', 'ok'] as const;

interface Summary {
  state: State;
  /** "healthy", or "down, 1 of 6". */
  text: string;
}

/** The worst status of a server's exit IPs, and how many have it; or that no node is online. */
export function summaryOf({ nodes, exits }: { nodes: Nodes; exits: Exits }): Summary {
  const missing = unserved(nodes);
  if (missing) return { state: missing, text: states[missing] };
  const state = worstFirst.find((status) => exits[status] > 0);
  if (!state) return { state: 'unknown', text: 'no exit IPs' };
  const all = worstFirst.reduce((sum, status) => sum + exits[status], 0);
  const many = exits[state];
  return { state, text: many === all ? states[state] : `${states[state]}, ${many} of ${all}` };
}

export const isMisplaced = ({ geostatus }: { geostatus: Record<string, { status: string }> }) =>
  Object.values(geostatus).some(({ status }) => status === 'crit');
