// The groups of users, for the overview and the filters of the page of users.

export const userStates = {
  active: 'Active',
  inactive: 'Inactive',
  invited: 'Invited, never signed in',
};
