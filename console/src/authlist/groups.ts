// Authlist entries that may need attention, as the overview tells of them and the page of the authlist filters them.

interface OfEntry {
  user_active: boolean;
  expiry: number;
}

const endsSoon_seconds = 86_400;

/** Times in epoch seconds. */
export const entryGroups = {
  idle: {
    text: 'let nobody in, as their user is not an active proxy user',
    has: ({ user_active }: OfEntry) => !user_active,
  },
  ending: {
    text: 'end within 24 hours',
    has: ({ user_active, expiry }: OfEntry, now: number) =>
      user_active && expiry - now <= endsSoon_seconds,
  },
} as const;
