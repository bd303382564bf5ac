// Questions to the nodes of a server: how would one of them decide on a connection, and why?
import type { Answer, ConnectionQuestion, LoginQuestion } from '../../../kit/src/node_interface.ts';
import { nextId, recordChange } from '../changes/changes.ts';
import type { Context } from '../context.ts';
import type { Database, Reader, Transaction } from '../db/database.ts';
import { notFound, unavailable } from '../errors.ts';
import type { Secrets } from '../keys/secrets.ts';
import { requireServer, type Server } from '../servers/servers.ts';
import * as store from './store.ts';
import { waitFor } from './waiting.ts';

/** How long the client waits for an answer. */
export const answerSeconds = 5;
const keptSeconds = 60;

const contextOf = (id: number) => `question ${id}`;

/**
 * Asks the nodes of a server by their stream, after all changes that were made before. Returns the
 * question's id. Not audited, since nothing changes. Errors: 503 when none of the server's nodes is
 * live.
 */
export async function askNodes(
  tx: Transaction,
  secrets: Secrets,
  server: Server,
  question: ConnectionQuestion | LoginQuestion,
): Promise<number> {
  const nodes = await store.nodesOfServer(tx, server.id);
  if (!nodes.some((node) => node.live === 1)) {
    throw unavailable(`No node of ${server.name} is live, so none can answer.`, 5, {
      code: 'no_live_node',
    });
  }
  const id = await nextId(tx, 0, 'questions');
  await store.insertQuestion(tx, {
    id,
    server_id: server.id,
    sealed: secrets.seal(JSON.stringify(question), contextOf(id)),
    answer: null,
    answered_by: null,
    asked_at: tx.now,
  });
  await recordChange(tx, {
    kind: 'explain',
    account_id: null,
    server_id: server.id,
    record_id: id,
  });
  return id;
}

/**
 * A question that still waits for its answer. A question sealed with a key that is gone is left
 * out: it cannot be opened any more.
 */
export async function findQuestion(
  db: Reader,
  secrets: Secrets,
  id: number,
): Promise<ConnectionQuestion | LoginQuestion | undefined> {
  const row = await store.findQuestion(db, id);
  if (!row?.sealed) return undefined;
  let question: string;
  try {
    question = secrets.unseal(row.sealed, contextOf(id));
  } catch {
    return undefined;
  }
  return JSON.parse(question) as ConnectionQuestion | LoginQuestion;
}

/** Stores the first answer. Errors: 404 for a question that is closed, or not for this node. */
export async function answerQuestion(
  tx: Transaction,
  node_id: number,
  id: number,
  answer: Answer,
): Promise<void> {
  if (!(await store.answerQuestion(tx, node_id, id, JSON.stringify(answer)))) {
    throw notFound(
      `There is no open question ${id} for this node: it was answered, is over, or this node is not live.`,
      { code: 'question_over' },
    );
  }
}

/** Waits for the answer and the name of the node that gave it; undefined when none came in time. */
function awaitAnswer(
  db: Database,
  steady: () => number,
  id: number,
): Promise<{ node: string; answer: Answer } | undefined> {
  const look = async () => {
    const { answer, answered_by } = (await store.findQuestion(db, id)) ?? {};
    if (!answer || !answered_by) return undefined;
    return { node: answered_by, answer: JSON.parse(answer) as Answer };
  };
  return waitFor(db, look, { steady, wait_seconds: answerSeconds });
}

/** Runs one transaction, on behalf of the client. */
type Write = <T>(action: (tx: Transaction) => Promise<T>) => Promise<T>;

/**
 * Asks the live nodes of a server, and returns the first answer. Errors: 404 for the server; 503
 * when no node answers in time.
 */
export async function answerOfNodes(
  { db, secrets, clock }: Pick<Context, 'db' | 'secrets' | 'clock'>,
  write: Write,
  server: string,
  question: ConnectionQuestion | LoginQuestion,
): Promise<Answer & { node: string }> {
  const id = await write(async (tx) =>
    askNodes(tx, secrets, await requireServer(tx, server), question),
  );
  const answered = await awaitAnswer(db, () => clock.steady(), id);
  await write((tx) => store.removeQuestion(tx, id));
  if (answered) return { node: answered.node, ...answered.answer };
  throw unavailable(
    `No node of ${server} answered within ${answerSeconds} seconds; look at their lag and at the version of their agents.`,
  );
}

/**
 * Deletes questions that no process waits for any more, for example because it ended; a batch at a
 * time.
 */
export function purgeQuestions(tx: Transaction, maxQuestions: number): Promise<number> {
  return store.purgeQuestions(tx, tx.now - keptSeconds, maxQuestions);
}
