// The thirty-eighth schema: the views of lists that people save in the console.
import type { Engine } from '../database.ts';

/** Of an account's user; with account 0 of an operator, by the id of the token. */
export function savedViews(engine: Engine): string[] {
  const clustered = engine === 'sqlite' ? 'without rowid' : '';
  const bytewise = engine === 'sqlite' ? '' : 'collate "C"';
  return [
    `create table saved_views (
      account_id bigint not null,
      viewer_id bigint not null,
      id bigint not null,
      page text ${bytewise} not null,
      name text ${bytewise} not null,
      query text ${bytewise} not null,
      primary key (account_id, viewer_id, id),
      unique (account_id, viewer_id, page, name)
    ) ${clustered}`,
  ];
}
