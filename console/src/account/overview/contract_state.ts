// The state of the account's contract: whether nodes serve it now.
import type { Tone } from '../../ui/ui.ts';
import type { Known } from './known.ts';

type Contract = NonNullable<Known['contract']>;

export function contractState(
  { suspended, expiry, over_limit, on_limit }: Contract,
  now: number,
): { tone: Tone; text: string } {
  if (suspended) return { tone: 'bad', text: 'suspended' };
  if (expiry <= now) return { tone: 'bad', text: 'ended' };
  if (over_limit) return { tone: on_limit === 'refuse' ? 'bad' : 'warn', text: 'over the limit' };
  return { tone: 'good', text: 'active' };
}
