// The groups of users, for the overview and the filters of the page of users.

export const userStates = {
  active: 'Active',
  inactive: 'Inactive',
  limit_reached: 'Limit reached, or access ended',
  invited: 'Invited, never signed in',
};
