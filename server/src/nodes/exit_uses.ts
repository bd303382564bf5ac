// The users of an exit around a time: nodes are asked, which keep files of it if their operator
// wants that. An answer passes through here, sealed, and is deleted when it is given.
import { promisify } from 'node:util';
import { deflateRaw, inflateRaw } from 'node:zlib';
import { canonicalAddress } from '../../../kit/src/address.ts';
import type { UseQuestion } from '../../../kit/src/node_interface.ts';
import { audit } from '../changes/audit.ts';
import { nextId, recordChange } from '../changes/changes.ts';
import type { Context } from '../context.ts';
import type { Actor, Reader, Transaction } from '../db/database.ts';
import { notFound, tooManyRequests } from '../errors.ts';
import type { Secrets } from '../keys/secrets.ts';
import { homeOfExit } from '../servers/servers.ts';
import { usersByKey } from '../users/users.ts';
import { compareVersions, version } from '../values/version.ts';
import * as store from './exit_use_store.ts';
import type { ConnectionLogMode, NodeRow } from './store.ts';
import { waitFor } from './waiting.ts';
import { type AskedNode, nodesToAsk } from './watch_store.ts';

/** A use of the exit, as a node has it. */
export interface NodeExitUse {
  service: string;
  /** Ids. */
  account: number;
  user: number;
  /** The client's, and its port. */
  address: string;
  source_port?: number;
  /** The ports at the exit that it may have used. */
  exit_ports?: { first: number; last: number };
  /** As the client asked for it, and the address that was dialled for it. */
  destination?: string;
  dialled?: string;
  since: number;
  /** Missing: it is still open. */
  until?: number;
  /** Requested facts that the node does not have for this use. */
  unknown: Array<'port' | 'destination'>;
}

export interface NodeExitUses {
  mode: ConnectionLogMode;
  /** The start of the oldest day in its files. */
  kept_since?: number;
  uses: NodeExitUse[];
  /** How many more there are. */
  more: number;
}

/** `has_exit`: its node's server has the exit now. */
export type ExitUse = NodeExitUse & { server: string; node: string; has_exit: boolean };

/** Why a node is missing; `not_logged`: it has no files of that time. */
export type UseSilence = 'offline' | 'outdated' | 'no_answer' | 'not_logged';

export interface ExitUses {
  /** Those of the server that has the exit come first, then those that match in all. */
  uses: ExitUse[];
  more: number;
  /** Nodes that may have had the exit and cannot say; `has_exit`: their server has it now. */
  missing: Array<{ node: string; server: string; reason: UseSilence; has_exit: boolean }>;
}

/** How many uses a node names, and an answer lists. */
export const maxUses = 1000;
/** A node searches the files of a day or two. */
export const useAnswerSeconds = 15;
const keptSeconds = 60;
const maxQuestions = 8;
/** Longer than any node keeps its files. */
const erasedKeptSeconds = 400 * 86_400;
const daySeconds = 86_400;

const questionContext = (id: number) => `exit use ${id}`;
const answerContext = (id: number, node_id: number) => `exit use ${id} ${node_id}`;
const [compress, decompress] = [promisify(deflateRaw), promisify(inflateRaw)];

/** Runs one transaction, on behalf of the operator. */
type Write = <T>(action: (tx: Transaction) => Promise<T>) => Promise<T>;

/**
 * Asks all nodes, since an exit may have moved, and waits for the live ones up to 15 seconds. The
 * question is audited with its reason before it is sent, and afterwards how many uses were shown,
 * but not which. Errors: 429 when too many are asked at once.
 */
export async function findExitUses(
  { db, secrets, clock }: Pick<Context, 'db' | 'secrets' | 'clock'>,
  write: Write,
  question: UseQuestion,
  reason: string,
): Promise<ExitUses> {
  const question_id = await write((tx) => ask(tx, secrets, question, reason));
  const nodes = await nodesToAsk(db, {});
  await waitFor(
    db,
    async () => {
      const answered = await store.answeredBy(db, question_id);
      return nodes.every(({ id, live }) => live === 0 || answered.has(id)) || undefined;
    },
    { steady: () => clock.steady(), wait_seconds: useAnswerSeconds },
  );
  const answered = await store.answeredBy(db, question_id);
  const answerOf = async (node_id: number) =>
    answered.has(node_id) ? readAnswer(db, secrets, question_id, node_id) : undefined;
  const uses = await merge(answerOf, nodes, question, await homeOfExit(db, question.exit_ip));
  await write(async (tx) => {
    await store.removeQuestion(tx, question_id);
    await audit(tx, {
      account_id: null,
      action: 'connection.answer',
      target: question.exit_ip,
      after: { at: question.at, rows: uses.uses.length, missing: uses.missing.length },
    });
  });
  return uses;
}

async function ask(
  tx: Transaction,
  secrets: Secrets,
  question: UseQuestion,
  reason: string,
): Promise<number> {
  if ((await store.countQuestions(tx)) >= maxQuestions) {
    throw tooManyRequests(
      'Too many questions of this kind are under way; try again in a moment.',
      { 'retry-after': String(useAnswerSeconds) },
      { code: 'rate_limited' },
    );
  }
  const id = await nextId(tx, 0, 'use_questions');
  const sealed = secrets.seal(JSON.stringify(question), questionContext(id));
  await store.insertQuestion(tx, { id, sealed, asked_at: tx.now });
  await recordChange(tx, { kind: 'exit_uses', account_id: null, record_id: id });
  const { exit_ip, destination, ...rest } = question;
  await audit(tx, {
    account_id: null,
    action: 'connection.find',
    target: exit_ip,
    after: {
      ...rest,
      ...(destination ? { destination: `${destination.host}:${destination.port}` } : {}),
      reason,
    },
  });
  return id;
}

/** The question as nodes get it; undefined: it is over. */
export async function findUseQuestion(
  db: Reader,
  secrets: Secrets,
  id: number,
): Promise<UseQuestion | undefined> {
  const row = await store.findQuestion(db, id);
  if (!row) return undefined;
  try {
    return JSON.parse(secrets.unseal(row.sealed, questionContext(id))) as UseQuestion;
  } catch {
    return undefined;
  }
}

/**
 * Stores a node's answer, without what it was not asked for and users that do not exist. Errors:
 * 404 when the question is over, or the node has answered.
 */
export async function answerUseQuestion(
  { db, secrets, clock }: Pick<Context, 'db' | 'secrets' | 'clock'>,
  actor: Actor,
  node: NodeRow,
  id: number,
  answer: NodeExitUses,
): Promise<void> {
  const over = notFound(`There is no open question ${id} for this node: it is over.`, {
    code: 'question_over',
  });
  const question = await findUseQuestion(db, secrets, id);
  if (!question) throw over;
  const { at, margin_seconds } = question;
  const within = answer.uses.flatMap((use) => {
    const address = canonicalAddress(use.address);
    const { since, until = clock.now() } = use;
    const isThen = since <= at + margin_seconds && until >= at - margin_seconds;
    return address !== undefined && isThen ? [{ ...use, address } as NodeExitUse] : [];
  });
  const userOf = await usersByKey(
    db,
    within.map(({ account, user }) => [account, user]),
  );
  const uses = within.filter(({ account, user }) => userOf(account, user) !== undefined);
  const text = await compress(JSON.stringify({ ...answer, uses }));
  const sealed = secrets.seal(text.toString('base64'), answerContext(id, node.id));
  const isStored = await db.write(actor, (tx) =>
    store.putAnswer(tx, { question_id: id, node_id: node.id, sealed }),
  );
  if (!isStored) throw over;
}

/** A node's answer, unless it was sealed with a key that is gone. */
async function readAnswer(
  db: Reader,
  secrets: Secrets,
  id: number,
  node_id: number,
): Promise<NodeExitUses | undefined> {
  const sealed = await store.findAnswer(db, id, node_id);
  if (sealed === undefined) return undefined;
  let text: string;
  try {
    text = secrets.unseal(sealed, answerContext(id, node_id));
  } catch {
    return undefined;
  }
  const json = await decompress(Buffer.from(text, 'base64'));
  return JSON.parse(json.toString()) as NodeExitUses;
}

/** Reads one answer after the other: however many nodes there are, they take the memory of one. */
async function merge(
  answerOf: (node_id: number) => Promise<NodeExitUses | undefined>,
  nodes: readonly AskedNode[],
  { at, margin_seconds }: UseQuestion,
  home: Awaited<ReturnType<typeof homeOfExit>>,
): Promise<ExitUses> {
  // Before it came there, any server may have had it.
  const { added_at = null } = home ?? {};
  const wasHome = added_at !== null && added_at <= at - margin_seconds;
  const shares = new FairShares();
  const missing: ExitUses['missing'] = [];
  let more = 0;
  for (const node of nodes) {
    const answer = await answerOf(node.id);
    const { name, server, server_id } = node;
    const has_exit = server_id === home?.server_id;
    const canBeTrue = has_exit || !wasHome;
    const reason = answer ? notLogged(answer, at) : silenceOf(node);
    if (reason && canBeTrue) missing.push({ node: name, server, reason, has_exit });
    more += answer?.more ?? 0;
    const uses = (answer?.uses ?? []).map((use) => ({ ...use, server, node: name, has_exit }));
    shares.add(uses, canBeTrue);
  }
  missing.sort(ofExitFirst);
  const uses = shares.uses.sort((a, b) => ofExitFirst(a, b) || byMatch(a, b));
  return { uses, more: more + shares.dropped, missing };
}

type OfExit = Pick<ExitUse, 'has_exit'>;
const ofExitFirst = (a: OfExit, b: OfExit) => Number(b.has_exit) - Number(a.has_exit);
const byMatch = (a: NodeExitUse, b: NodeExitUse) =>
  a.unknown.length - b.unknown.length || a.since - b.since;

/**
 * Takes a use of each node in turn, so that no node's lies displace the answers of others; those
 * that can't be true only where there is room.
 */
class FairShares {
  #ranked: Array<{ use: ExitUse; turn: number; isLast: boolean }> = [];
  dropped = 0;

  /** Adds a node's uses. */
  add(uses: ExitUse[], canBeTrue: boolean): void {
    for (const [turn, use] of uses.sort(byMatch).entries()) {
      this.#ranked.push({ use, turn, isLast: !canBeTrue });
    }
    this.#ranked.sort((a, b) => Number(a.isLast) - Number(b.isLast) || a.turn - b.turn);
    this.dropped += this.#ranked.splice(maxUses).length;
  }

  get uses(): ExitUse[] {
    return this.#ranked.map(({ use }) => use);
  }
}

/** Today's file begins with the first connection. */
function notLogged({ mode, kept_since }: NodeExitUses, at: number): UseSilence | undefined {
  const today = at - (at % daySeconds);
  const isKept = kept_since === undefined ? mode !== 'off' : kept_since <= today;
  return isKept ? undefined : 'not_logged';
}

function silenceOf({ live, version: its }: AskedNode): UseSilence {
  if (live === 0) return 'offline';
  return compareVersions(its, version) < 0 ? 'outdated' : 'no_answer';
}

/** Deletes questions whose process is gone; a batch at a time. */
export function purgeUseQuestions(tx: Transaction, maxRows: number): Promise<number> {
  return store.purgeQuestions(tx, tx.now - keptSeconds, maxRows);
}

// ---- Erasure ------------------------------------------------------------------------------

/** Has all nodes remove the lines of an erased user, those that are offline later. */
export async function eraseUsesOf(
  tx: Transaction,
  { account_id, id }: { account_id: number; id: number },
): Promise<void> {
  await store.putErased(tx, { account_id, user_id: id, erased_at: tx.now });
  await recordChange(tx, { kind: 'erased_users', account_id: null });
}

/** All users who were erased for as long as a node may have lines of them. */
export async function erasedUsers(db: Reader): Promise<Array<{ account: number; user: number }>> {
  const rows = await store.listErased(db);
  return rows.map(({ account_id, user_id }) => ({ account: account_id, user: user_id }));
}

/** Deletes the ids of users whose lines are gone by their age; a batch at a time. */
export function purgeErasedUsers(tx: Transaction, maxRows: number): Promise<number> {
  return store.purgeErased(tx, tx.now - erasedKeptSeconds, maxRows);
}
