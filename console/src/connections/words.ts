// The sums of the open connections, and the nodes that are not included, in words.
import { bytes, clockTime, count } from '../format.ts';
import { serviceName } from '../services.ts';
import type { EndedConnections, EndTarget, OpenConnections } from './groups.ts';

interface Missing {
  server: string;
  node?: string;
  reason: keyof typeof reasons;
}

const reasons = {
  offline: 'offline',
  outdated: 'its agent is older than the server',
  no_answer: 'no answer',
  unfinished: 'it didn’t report how many',
  not_logged: 'no log of that time',
};

const maxNames = 6;

/**
 * "Not included: fra1-a, fra1-b (offline)." Account holders see the names of servers. Empty when
 * none is missing.
 */
export function missingText(missing: readonly Missing[], lack = 'Not included'): string {
  const byReason = Map.groupBy(missing, ({ reason }) => reason);
  const parts = Array.from(byReason, ([reason, nodes]) => {
    const names = [...new Set(nodes.map(({ server, node }) => node ?? `a node of ${server}`))];
    const others = names.length - maxNames;
    const shown = others > 1 ? [...names.slice(0, maxNames), `${others} others`] : names;
    return `${shown.join(', ')} (${reasons[reason] ?? reason})`;
  });
  return parts.length === 0 ? '' : `${lack}: ${parts.join('; ')}.`;
}

/** "12 connections, 310 MB down, 1.2 MB up." */
export const totalText = ({ connections, down, up }: OpenConnections['total']) =>
  connections === 0
    ? '0 connections.'
    : `${count(connections, 'connection')}, ${bytes(down)} down, ${bytes(up)} up.`;

/** "the connections of alice from 203.0.113.7 on fra1" */
export function namedText(target: EndTarget): string {
  const { account, user, address, exit_ip, server, node, service } = target;
  const parts = [
    ['of', user ?? (account && `the account ${account}`)],
    ['from', address],
    ['to the exit IP', exit_ip],
    ['on', server],
    ['on node', node],
    ['by', service && serviceName(service)],
  ];
  const words = parts.flatMap(([word, value]) => (value ? [`${word} ${value}`] : []));
  return words.length === 0 ? 'all connections' : `the connections ${words.join(' ')}`;
}

/** "12 connections ended. Not reached: fra1-b (offline)." Says until when they may be. */
export function endedText({ ended, missing, until }: EndedConnections): string {
  const late = missing.some(({ reason }) => reason !== 'unfinished')
    ? `They may still be ended there until ${clockTime(until)}.`
    : '';
  return [`${count(ended, 'connection')} ended.`, missingText(missing, 'Not reached'), late]
    .filter(Boolean)
    .join(' ');
}
