// API tokens by how they stand, as the overview tells of them and the page of tokens filters them.
import { day_seconds } from '../usage/days.ts';

interface OfToken {
  expiry: number | null;
}

const endsSoon_seconds = 7 * day_seconds;

/** Times in epoch seconds. */
export const tokenGroups = {
  expired: {
    text: 'expired',
    has: ({ expiry }: OfToken, now: number) => expiry !== null && expiry <= now,
  },
  ending: {
    text: 'end within 7 days',
    has: ({ expiry }: OfToken, now: number) =>
      expiry !== null && expiry > now && expiry - now <= endsSoon_seconds,
  },
} as const;
