// The fifty-first schema: which operators may ask who used an exit, the questions that wait for
// nodes, and the people who were erased.
import type { Engine } from '../database.ts';

/** Questions are over within a minute: as the watches of the forty-first. */
export function exitUses(engine: Engine): string[] {
  const clustered = engine === 'sqlite' ? 'without rowid' : '';
  const table = engine === 'sqlite' ? 'create table' : 'create unlogged table';
  return [
    'alter table admin_tokens add column may_find_connections bigint not null default 0',
    // The question and the answers are sealed: a backup says nothing about them.
    `${table} use_questions (
      id bigint primary key,
      sealed text not null,
      asked_at bigint not null
    )`,
    `${table} use_answers (
      question_id bigint not null references use_questions (id) on delete cascade,
      node_id bigint not null references nodes (id) on delete cascade,
      sealed text not null,
      primary key (question_id, node_id)
    ) ${clustered}`,
    // Ids alone. Nodes that were offline get them later.
    `create table erased_users (
      account_id bigint not null,
      user_id bigint not null,
      erased_at bigint not null,
      primary key (account_id, user_id)
    ) ${clustered}`,
    'create index erased_users_by_time on erased_users (erased_at)',
  ];
}
