// Users by how they stand, as the overview tells of them and the page of users filters them.

interface OfUser {
  active: boolean;
  sign_in: { invited_until: number | null; last_sign_in_at: number | null };
}

export const userGroups = {
  active: { text: 'active', has: ({ active }: OfUser) => active },
  inactive: { text: 'inactive', has: ({ active }: OfUser) => !active },
  invited: {
    text: 'invited, never signed in',
    has: ({ active, sign_in }: OfUser) =>
      active && sign_in.invited_until !== null && sign_in.last_sign_in_at === null,
  },
} as const;
