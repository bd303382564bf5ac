// The states of servers, nodes and accounts: each a tone and a word.
import type { ResponseOf } from '../api/api.ts';
import { count } from '../format.ts';
import type { Tone } from '../ui/ui.ts';

export type Account = ResponseOf<'admin_list_accounts'>[number];
export type Node = ResponseOf<'admin_list_nodes'>[number];
export type Server = ResponseOf<'admin_list_servers'>[number];

export interface State {
  tone: Tone;
  text: string;
}

/** The largest lag that the server counts; it also stands for more. */
const maxLag = 10_000;

export function lagText(lag: number): string {
  const changes = lag.toLocaleString('en');
  if (lag >= maxLag) return `${changes} changes or more to apply`;
  return `${changes} ${lag === 1 ? 'change' : 'changes'} behind`;
}

/** The state of a node; the problems of one that is online are part of it. */
export function nodeState(
  node: Pick<Node, 'live' | 'lag' | 'drained_at' | 'connections' | 'is_behind' | 'faults'>,
): State {
  const { live, lag, drained_at, connections, is_behind, faults } = node;
  const problems = faults.length > 0 ? `, ${count(faults.length, 'problem')}` : '';
  if (!live) return { tone: 'bad', text: 'offline' };
  // Old agents neither report open connections nor support draining.
  if (drained_at !== null && is_behind && connections === null) {
    return { tone: 'bad', text: 'agent too old to drain' };
  }
  if (drained_at !== null) {
    const open = connections ? `, ${connections} open` : '';
    return { tone: 'warn', text: `drained${open}${problems}` };
  }
  const text = `${lag > 0 ? 'lagging' : 'online'}${problems}`;
  return { tone: text === 'online' ? 'good' : 'warn', text };
}

/** The nodes that continue to serve when this one does not. */
export function othersOfServer<T extends Pick<Node, 'id' | 'server'>>(node: T, all: readonly T[]) {
  return all.filter(({ id, server }) => id !== node.id && server === node.server);
}

type OfNode = Pick<Node, 'live' | 'lag' | 'drained_at'>;

/** The groups of nodes that may need attention, for the overview and the filters of their page. */
export const nodeGroups = {
  lost: { text: 'offline', has: ({ live }: OfNode) => !live },
  lagging: { text: 'lagging', has: ({ live, lag }: OfNode) => live && lag > 0 },
  drained: { text: 'drained', has: ({ live, drained_at }: OfNode) => live && drained_at !== null },
  faulty: {
    text: 'with problems',
    has: ({ live, faults }: OfNode & Pick<Node, 'faults'>) => live && faults.length > 0,
  },
} as const;

/** The states that the server can filter nodes by. */
export const nodeFilters = {
  good: 'Online, no problems',
  lost: 'Offline',
  faulty: 'With problems',
  lagging: 'Lagging',
  drained: 'Drained',
};

/**
 * The groups of servers by their nodes, as the server filters them: each server is in one group.
 */
export const serverGroups = {
  good: 'online',
  warn: 'a node lags, is drained or offline',
  drained: 'drained',
  bad: 'no node online',
  neutral: 'no node yet',
} as const;

/** The state of a server, by its nodes. */
export function serverState({ all, live, drained, lag }: Server['nodes']): State {
  if (all === 0) return { tone: 'neutral', text: 'no node yet' };
  if (live === 0) return { tone: 'bad', text: 'no node online' };
  if (live < all) return { tone: 'warn', text: `${live} of ${all} nodes online` };
  if (drained === live) return { tone: 'bad', text: 'drained' };
  if (drained > 0) return { tone: 'warn', text: `${drained} of ${live} nodes drained` };
  return lag > 0 ? { tone: 'warn', text: lagText(lag) } : { tone: 'good', text: 'online' };
}

/** From the worst. */
export const exitStatuses = ['crit', 'warn', 'unknown', 'ok'] as const;
export const exitTones = { crit: 'bad', warn: 'warn', unknown: 'neutral', ok: 'good' } as const;

type OfAccount = Pick<Account, 'suspended' | 'over_limit' | 'expiry'>;

/**
 * The states of accounts that the server can filter by, for the overview and the page of accounts.
 */
export const accountFilters = {
  active: 'Active',
  over: 'Over the limit',
  ended: 'Ended',
  ending: 'End within 30 days',
  suspended: 'Suspended',
};

/** Everything that limits an account now; empty: none. */
export function accountStates(account: OfAccount, now: number): State[] {
  const { suspended, over_limit, expiry } = account;
  const states: State[] = [];
  if (suspended) states.push({ tone: 'bad', text: 'suspended' });
  if (expiry <= now) states.push({ tone: 'bad', text: 'ended' });
  else if (expiry - now <= endsSoonSeconds) states.push({ tone: 'warn', text: 'ends soon' });
  if (over_limit) states.push({ tone: 'bad', text: 'over the limit' });
  return states;
}

const endsSoonSeconds = 30 * 86_400;
