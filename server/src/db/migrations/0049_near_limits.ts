// The forty-ninth schema: users who have used most of their limit of bytes.

/** `near_until`: the end of the billing period in which a user comes near the limit; 0: none. */
export function nearLimits(): string[] {
  return [
    'alter table users add column near_until bigint not null default 0',
    'update users set near_until = over_until where over_limit = 1',
    'create index users_near_limit on users (over_limit, near_until) where near_until > 0',
    `create index users_near_limit_of_account on users (account_id, over_limit, near_until)
      where near_until > 0`,
  ];
}
