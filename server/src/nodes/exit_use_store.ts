// The SQL of questions about uses of exits, their answers, and the users whose lines nodes remove.
import type { Reader, Transaction } from '../db/database.ts';

export interface UseQuestionRow {
  id: number;
  sealed: string;
  asked_at: number;
}

export function insertQuestion(tx: Transaction, row: UseQuestionRow): Promise<void> {
  return tx.insertMany('use_questions', [{ ...row }]);
}

export function findQuestion(db: Reader, id: number): Promise<UseQuestionRow | undefined> {
  return db.one('select * from use_questions where id = $1', [id]);
}

export async function countQuestions(db: Reader): Promise<number> {
  const row = await db.one<{ questions: number }>(
    'select count(*) as questions from use_questions',
  );
  return row?.questions ?? 0;
}

export function removeQuestion(tx: Transaction, id: number): Promise<number> {
  return tx.run('delete from use_questions where id = $1', [id]);
}

export function purgeQuestions(tx: Transaction, asked_before: number, maxRows: number) {
  return tx.run(
    `delete from use_questions where id in
       (select id from use_questions where asked_at < $1 limit $2)`,
    [asked_before, maxRows],
  );
}

/** Stores a node's first answer. False: the question is over, or the node has answered. */
export async function putAnswer(
  tx: Transaction,
  answer: { question_id: number; node_id: number; sealed: string },
): Promise<boolean> {
  const rows = await tx.put(
    `insert into use_answers (question_id, node_id, sealed)
     select id, cast($2 as bigint), $3 from use_questions where id = $1
     on conflict (question_id, node_id) do nothing returning question_id`,
    [answer.question_id, answer.node_id, answer.sealed],
  );
  return rows.length > 0;
}

/** The nodes that have answered. */
export async function answeredBy(db: Reader, question_id: number): Promise<Set<number>> {
  const rows = await db.all<{ node_id: number }>(
    'select node_id from use_answers where question_id = $1',
    [question_id],
  );
  return new Set(rows.map(({ node_id }) => node_id));
}

/** A node's answer, sealed. */
export async function findAnswer(
  db: Reader,
  question_id: number,
  node_id: number,
): Promise<string | undefined> {
  const row = await db.one<{ sealed: string }>(
    'select sealed from use_answers where question_id = $1 and node_id = $2',
    [question_id, node_id],
  );
  return row?.sealed;
}

export interface ErasedUserRow {
  account_id: number;
  user_id: number;
  erased_at: number;
}

export async function putErased(tx: Transaction, row: ErasedUserRow): Promise<void> {
  await tx.run(
    `insert into erased_users (account_id, user_id, erased_at) values ($1, $2, $3)
     on conflict (account_id, user_id) do update set erased_at = excluded.erased_at`,
    [row.account_id, row.user_id, row.erased_at],
  );
}

export function listErased(db: Reader): Promise<ErasedUserRow[]> {
  return db.all('select * from erased_users order by account_id, user_id');
}

export function purgeErased(tx: Transaction, erased_before: number, maxRows: number) {
  return tx.run(
    `delete from erased_users where (account_id, user_id) in
       (select account_id, user_id from erased_users where erased_at < $1 limit $2)`,
    [erased_before, maxRows],
  );
}
