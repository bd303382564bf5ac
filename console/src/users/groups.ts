// Users by how they stand, as the overview tells of them and the page of users filters them.

export const userStates = {
  active: 'Active',
  inactive: 'Inactive',
  invited: 'Invited, never signed in',
};
