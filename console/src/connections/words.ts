// The sums of the open connections, and the nodes that are not included, in words.
import { bytes, count } from '../format.ts';
import type { OpenConnections } from './read.ts';

type Missing = OpenConnections['missing'];

const reasons: Record<Missing[number]['reason'], string> = {
  offline: 'offline',
  outdated: 'its agent is older than the server',
  no_answer: 'no answer',
};

const maxNames = 6;

/**
 * "Not included: fra1-a, fra1-b (offline)." Account holders see the names of servers. Empty when
 * none is missing.
 */
export function missingText(missing: Missing): string {
  const byReason = Map.groupBy(missing, ({ reason }) => reason);
  const parts = Array.from(byReason, ([reason, nodes]) => {
    const names = [...new Set(nodes.map(({ server, node }) => node ?? `a node of ${server}`))];
    const others = names.length - maxNames;
    const shown = others > 1 ? [...names.slice(0, maxNames), `${others} others`] : names;
    return `${shown.join(', ')} (${reasons[reason] ?? reason})`;
  });
  return parts.length === 0 ? '' : `Not included: ${parts.join('; ')}.`;
}

/** "12 connections, 310 MB down, 1.2 MB up." */
export const totalText = ({ connections, down, up }: OpenConnections['total']) =>
  connections === 0
    ? '0 connections.'
    : `${count(connections, 'connection')}, ${bytes(down)} down, ${bytes(up)} up.`;
