// Operators: their tokens, maintenance, the state of the whole network, the audit log.

import { createDurably, removeUnfinished } from '../../../kit/src/durable.ts';
import { OpenToOthers, readPrivate } from '../../../kit/src/private_files.ts';
import { audit } from '../changes/audit.ts';
import { bumpVersion, networkPosition, networkVersion, nextId } from '../changes/changes.ts';
import type { Actor, Database, Transaction } from '../db/database.ts';
import { lostFile } from '../db/faults.ts';
import { schemaVersion } from '../db/migrate.ts';
import { inTurns } from '../db/slices.ts';
import { conflict, notFound } from '../errors.ts';
import type { Secrets } from '../keys/secrets.ts';
import { newTokenText, tokenTextIsPlausible } from '../keys/token_text.ts';
import { operatorViewer, removeViewsOf } from '../saved_views/saved_views.ts';
import { version } from '../values/version.ts';
import * as store from './store.ts';

/** The operator token of a request: it says who works through /admin. */
export type Operator = store.OperatorTokenRow;

/** A right that no operator token has by itself. */
export type OperatorRight = Extract<keyof Operator, `may_${string}`>;

export {
  operatorTokenPageSlices,
  operatorTokenSorts,
  operatorTokenStates,
} from './page_store.ts';
export type { NamedAuditRecord } from './store.ts';
export {
  findOperator,
  findToken,
  isInMaintenance,
  listOperatorTokens,
  markOperatorTokensUsed,
} from './store.ts';

/** The fields of an operator token that may be shown and logged. */
export function withoutHash({ hash: _, ...shown }: Operator) {
  return shown;
}

/**
 * Creates an operator token; its text (`ewo_…`) is shown only here. Errors: 409 when the name is
 * taken.
 */
export async function createOperatorToken(
  tx: Transaction,
  secrets: Secrets,
  name: string,
  {
    text = newTokenText('ewo_'),
    may_find_connections = false,
  }: { text?: string; may_find_connections?: boolean | undefined } = {},
): Promise<{ token: Operator; text: string }> {
  const token: Operator = {
    id: await nextId(tx, 0, 'admin_tokens'),
    name,
    hash: secrets.hashToken(text),
    created_at: tx.now,
    last_used_at: null,
    may_find_connections: may_find_connections ? 1 : 0,
  };
  if (!(await store.insertToken(tx, token))) {
    throw conflict(`an operator token named ${JSON.stringify(name)} exists already.`, {
      code: 'name_taken',
      field: 'name',
    });
  }
  await audit(tx, {
    account_id: null,
    action: 'operator_token.create',
    target: name,
    after: withoutHash(token),
  });
  // Open pages of operators show it.
  await bumpVersion(tx, networkVersion);
  return { token, text };
}

/** Revokes an operator token. Errors: 404; 409 for the last one, which would lock everyone out. */
export async function removeOperatorToken(tx: Transaction, id: number | undefined): Promise<void> {
  const token = id === undefined ? undefined : await store.findToken(tx, id);
  if (!token) throw notFound('There is no such operator token.');
  await revoke(tx, [token]);
}

/**
 * Revokes many operator tokens, all or none. Errors: 404 naming the first that does not exist; 409
 * if none would be left.
 */
export async function removeOperatorTokens(tx: Transaction, ids: readonly number[]): Promise<void> {
  const tokens: Operator[] = [];
  for (const [at, id] of ids.entries()) {
    const token = await store.findToken(tx, id);
    if (!token) {
      throw notFound(
        `there is no operator token ${id}; it may have been revoked. Nothing was done.`,
        { field: `ids.${at}` },
      );
    }
    tokens.push(token);
  }
  await revoke(tx, tokens, `ids.${ids.length - 1}`);
}

/** `field`: the field of the request that names the last of them. */
async function revoke(tx: Transaction, tokens: readonly Operator[], field?: string): Promise<void> {
  if ((await store.countTokens(tx)) === tokens.length) {
    const name = JSON.stringify(tokens.at(-1)?.name);
    throw conflict(`${name} is the last operator token; create another before you revoke it.`, {
      code: 'last_token',
      ...(field === undefined ? {} : { field }),
    });
  }
  // Open pages of operators show it, and the revoked operator's pages end.
  await bumpVersion(tx, networkVersion);
  for await (const token of inTurns(tokens)) {
    await store.removeToken(tx, token.id);
    await removeViewsOf(tx, operatorViewer(token.id));
    await audit(tx, {
      account_id: null,
      action: 'operator_token.remove',
      target: token.name,
      before: withoutHash(token),
    });
  }
}

/**
 * Makes sure that there is an operator token. A database without any gets the one in `file` (from
 * another database), else a new one that is written there with mode 0600. Returns the name of the
 * token that was added. Errors: a plain Error with one sentence about the file.
 */
export async function ensureOperatorToken(
  db: Database,
  secrets: Secrets,
  file: string,
  actor: Actor,
  mounted?: string,
): Promise<string | undefined> {
  return db.write(actor, async (tx) => {
    if ((await store.listOperatorTokens(tx)).length > 0) return undefined;
    // Inside the transaction, so that processes that start together run one after another. When it
    // runs again, it finds the file that it has written.
    const text = readTokenFile(file, mounted) ?? makeTokenFile(file);
    return (await createOperatorToken(tx, secrets, 'first', { text })).token.name;
  });
}

function readTokenFile(file: string, mounted?: string): string | undefined {
  let text: string;
  try {
    text = readPrivate(file, { mounted }).trim();
  } catch (error) {
    if (error instanceof OpenToOthers) throw error;
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return undefined;
    throw new Error(`The operator token file ${file} cannot be read (${code}).`);
  }
  if (text.startsWith('ewo_') && tokenTextIsPlausible(text)) return text;
  throw new Error(
    `The operator token file ${file} holds no operator token; move it away, and a new one is made.`,
  );
}

function makeTokenFile(file: string): string {
  const text = newTokenText('ewo_');
  try {
    const isOurs = createDurably(file, `${text}\n`);
    removeUnfinished(file);
    if (!isOurs) return readTokenFile(file) ?? text;
  } catch (error) {
    throw new Error(
      `The operator token file ${file} cannot be written (${(error as NodeJS.ErrnoException).code}).`,
      { cause: error },
    );
  }
  return text;
}

/** Turns maintenance on or off: while it is on, /v0 answers 503. */
export async function setMaintenance(tx: Transaction, on: boolean): Promise<void> {
  const before = await store.isInMaintenance(tx);
  if (before === on) return;
  await store.setMaintenance(tx, on);
  await bumpVersion(tx, networkVersion);
  await audit(tx, {
    account_id: null,
    action: on ? 'maintenance.on' : 'maintenance.off',
    target: 'network',
    before: { on: before },
    after: { on },
  });
}

/** The state of the network and of this server. Errors: 503 when the database does not answer. */
export async function networkStatus(db: Database, now: number) {
  const [
    position,
    maintenance,
    schema,
    { nodes, live_nodes, has_users, has_usage, ...counts },
    lagging_nodes,
  ] = await Promise.all([
    networkPosition(db),
    store.isInMaintenance(db),
    schemaVersion(db),
    store.counts(db),
    store.laggingNodes(db),
  ]);
  return {
    version,
    now,
    maintenance,
    database: {
      engine: db.engine,
      schema,
      ...position,
      answers: true,
      fault: db.isLost?.() ? lostFile : null,
    },
    ...counts,
    nodes: { all: nodes, live: live_nodes, lagging: lagging_nodes },
    has_users: has_users > 0,
    has_usage: has_usage > 0,
  };
}

/** The first setup step that a new network still needs; undefined once it has carried traffic. */
export function nextStep(
  status: Awaited<ReturnType<typeof networkStatus>>,
): 'server' | 'node' | 'account' | 'user' | 'connection' | undefined {
  const { servers, nodes, accounts, has_users, has_usage } = status;
  if (has_usage) return undefined;
  if (servers === 0) return 'server';
  if (nodes.all === 0) return 'node';
  if (accounts === 0) return 'account';
  return has_users ? 'connection' : 'user';
}
