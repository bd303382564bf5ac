// The fourth schema: how people sign in with a browser, and the sessions that they have.
import type { Engine } from '../database.ts';

/** As in the first: one text for both engines, see there for `clustered` and `bytewise`. */
export function signIn(engine: Engine): string[] {
  const clustered = engine === 'sqlite' ? 'without rowid' : '';
  const bytewise = engine === 'sqlite' ? '' : 'collate "C"';
  return [
    // A user's secrets: the password as its slow hash, the second factor sealed. `totp_step` is the last
    // step that was used; `totp_pending` a secret that its owner has not confirmed yet.
    `create table sign_ins (
      account_id bigint not null,
      user_id bigint not null,
      password text,
      totp_sealed text,
      totp_step bigint not null default 0,
      totp_pending text,
      last_sign_in_at bigint,
      primary key (account_id, user_id),
      foreign key (account_id, user_id) references users (account_id, id)
    ) ${clustered}`,
    `create table recovery_codes (
      account_id bigint not null,
      user_id bigint not null,
      hash text ${bytewise} not null,
      primary key (account_id, user_id, hash),
      foreign key (account_id, user_id) references users (account_id, id)
    ) ${clustered}`,
    // Invitations and sign-in links; a code that was used is gone.
    `create table sign_in_codes (
      hash text ${bytewise} primary key,
      account_id bigint not null,
      user_id bigint not null,
      purpose text not null,
      expiry bigint not null,
      unique (account_id, user_id, purpose),
      foreign key (account_id, user_id) references users (account_id, id)
    )`,
    'create index sign_in_codes_by_expiry on sign_in_codes (expiry)',
    `create table sessions (
      account_id bigint not null,
      id bigint not null,
      user_id bigint not null,
      hash text ${bytewise} not null unique,
      created_at bigint not null,
      seen_at bigint not null,
      expiry bigint not null,
      address text not null,
      browser text not null,
      primary key (account_id, id),
      foreign key (account_id, user_id) references users (account_id, id)
    ) ${clustered}`,
    'create index sessions_of_user on sessions (account_id, user_id, id)',
    // Failed attempts by keyed hash of who was to be signed in, and of where from.
    `create table sign_in_attempts (
      subject text ${bytewise} primary key,
      failures bigint not null,
      wait_until bigint not null,
      at bigint not null
    ) ${clustered}`,
    'create index sign_in_attempts_by_age on sign_in_attempts (at)',
  ];
}
