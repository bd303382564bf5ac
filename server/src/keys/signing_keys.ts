// The signing keys of the network. Their public keys are in the database, so that each process
// sends nodes the same ones.
import { hostname } from 'node:os';
import { audit } from '../changes/audit.ts';
import { recordChange } from '../changes/changes.ts';
import type { Reader, Transaction } from '../db/database.ts';
import { conflict, notFound } from '../errors.ts';
import type { PublicKey, Secrets } from './secrets.ts';

/** A signing key; times in epoch seconds. The private key is in the keys file of each process. */
export interface SigningKey {
  kid: string;
  public_key: string;
  /** When it was sent to nodes, and the revision of that change. */
  prepared_at: number;
  prepared_revision: number;
  /** Null: it does not sign yet. */
  activated_at: number | null;
  /** When the next one was activated. */
  superseded_at: number | null;
  /** When the last token that it signed expires. */
  last_expiry: number;
  /** When nodes were notified that it is no longer valid. */
  gone_at: number | null;
}

/** The longest lifetime of tokens, for keys whose last expiry is not known. */
const longestLifetimeSeconds = 10 * 365.25 * 86_400;
/** How recently a process must have reported to count as running. */
const runningSeconds = 180;
const reportAgainSeconds = 60;

export function listSigningKeys(db: Reader): Promise<SigningKey[]> {
  return db.all('select * from signing_keys order by prepared_at, kid');
}

/** The keys with which nodes verify proxy access tokens. */
export async function publicKeys(db: Reader): Promise<PublicKey[]> {
  const keys = (await listSigningKeys(db)).filter(({ gone_at }) => gone_at === null);
  return keys.map(({ kid, public_key }) => ({ kid, public_key }));
}

/** The key that signs. Also stores the expiry of the token that it is about to sign. */
export async function keyToSign(tx: Transaction, expiry: number): Promise<string> {
  const key = await tx.one<{ kid: string; last_expiry: number }>(
    'select kid, last_expiry from signing_keys where activated_at is not null and superseded_at is null',
  );
  if (!key) throw new Error('No signing key is active.');
  if (key.last_expiry < expiry) {
    await tx.run('update signing_keys set last_expiry = $1 where kid = $2', [expiry, key.kid]);
  }
  return key.kid;
}

/**
 * Registers the keys of the file that the database does not know: those of a new network, of an
 * interrupted rotation, or of one after the restored backup. `isUsed`: tokens may have been signed
 * with them.
 */
export async function ensureSigningKeys(
  tx: Transaction,
  secrets: Secrets,
  isUsed: boolean,
): Promise<void> {
  const stored = await listSigningKeys(tx);
  const fresh = secrets.publicKeys().filter(({ kid }) => stored.every((key) => key.kid !== kid));
  for (const key of fresh) await insert(tx, key, isUsed);
  // In a new network the last key of the file signs.
  const newest = secrets.publicKeys().at(-1)?.kid;
  if (stored.length === 0 && newest !== undefined) {
    await tx.run('update signing_keys set activated_at = $1 where kid = $2', [tx.now, newest]);
    await tx.run('update signing_keys set activated_at = $1, superseded_at = $1 where kid <> $2', [
      tx.now,
      newest,
    ]);
  }
}

async function insert(tx: Transaction, key: PublicKey, isUsed: boolean): Promise<void> {
  const prepared_revision = await recordChange(tx, { kind: 'keys', account_id: null });
  await tx.insertMany('signing_keys', [
    {
      ...key,
      prepared_at: tx.now,
      prepared_revision,
      activated_at: null,
      superseded_at: null,
      last_expiry: isUsed ? tx.now + longestLifetimeSeconds : 0,
      gone_at: null,
    },
  ]);
}

/** The key that is prepared and does not sign yet. */
export async function findPrepared(db: Reader): Promise<SigningKey | undefined> {
  const keys = await listSigningKeys(db);
  return keys.find(({ activated_at, gone_at }) => activated_at === null && gone_at === null);
}

/** Sends nodes a key that will sign later. Errors: 409 when another is already prepared. */
export async function prepareKey(tx: Transaction, key: PublicKey): Promise<void> {
  const prepared = await findPrepared(tx);
  if (prepared?.kid === key.kid) return;
  if (prepared) throw conflict(`the signing key ${prepared.kid} is already prepared; activate it.`);
  await insert(tx, key, false);
  await auditKey(tx, 'signing_key.prepare', key.kid);
}

/**
 * Makes the prepared key the one that signs. Errors: 409 when there is none, or while a running
 * process has not reported that it holds the key.
 */
export async function activateKey(tx: Transaction): Promise<SigningKey> {
  const key = await findPrepared(tx);
  if (!key) throw conflict('no signing key is prepared; run "exitward keys rotate" first.');
  await requireHolders(tx, key.kid, `the signing key ${key.kid}`);
  await tx.run(
    'update signing_keys set superseded_at = $1 where activated_at is not null and superseded_at is null',
    [tx.now],
  );
  await tx.run('update signing_keys set activated_at = $1 where kid = $2', [tx.now, key.kid]);
  await auditKey(tx, 'signing_key.activate', key.kid);
  return key;
}

/** Errors: 409 while a running process has not reported that it holds this key. */
export async function requireHolders(tx: Transaction, kid: string, name: string): Promise<void> {
  const lacking = (await holders(tx))
    .filter(({ kids, seen_at }) => seen_at > tx.now - runningSeconds && !kids.includes(kid))
    .map(({ process }) => process);
  if (lacking.length === 0) return;
  throw conflict(
    `${name} is not in the keys file of ${lacking.join(', ')}, as far as reported; copy the keys file there if it is another one, and try again: it is read within 15 seconds.`,
  );
}

/**
 * Ends a key at once, with all tokens that it signed: for a key that was stolen. Errors: 404; 409
 * for the active key, since another has to sign first.
 */
export async function revokeKey(tx: Transaction, kid: string): Promise<void> {
  const key = (await listSigningKeys(tx)).find((candidate) => candidate.kid === kid);
  if (!key || key.gone_at !== null)
    throw notFound(`There is no signing key ${JSON.stringify(kid)}.`);
  if (key.activated_at !== null && key.superseded_at === null) {
    throw conflict(
      `the signing key ${kid} is the one that signs; prepare and activate another first ("exitward keys rotate").`,
    );
  }
  await end(tx, kid, 'signing_key.revoke');
}

async function end(tx: Transaction, kid: string, action: string): Promise<void> {
  await tx.run('update signing_keys set gone_at = $1 where kid = $2', [tx.now, kid]);
  await recordChange(tx, { kind: 'keys', account_id: null });
  await auditKey(tx, action, kid);
}

/** Ends superseded keys whose last token has expired. A job; returns how many. */
export async function sweepSigningKeys(tx: Transaction): Promise<number> {
  const ended = (await listSigningKeys(tx)).filter(
    ({ superseded_at, last_expiry, gone_at }) =>
      superseded_at !== null && gone_at === null && last_expiry <= tx.now,
  );
  for (const { kid } of ended) await end(tx, kid, 'signing_key.end');
  return ended.length;
}

function auditKey(tx: Transaction, action: string, kid: string): Promise<void> {
  return audit(tx, { account_id: null, action, target: `signing_key/${kid}` });
}

interface Holder {
  process: string;
  kids: string[];
  seen_at: number;
}

async function holders(db: Reader): Promise<Holder[]> {
  const rows = await db.all<{ process: string; kids: string; seen_at: number }>(
    'select process, kids, seen_at from key_holders order by process',
  );
  return rows.map(({ kids, ...row }) => ({ ...row, kids: kids.split(',') }));
}

const thisProcess = `${hostname()}:${process.pid}`;

/**
 * Reports which keys this process holds. Reads the file again when the database knows a key that it
 * lacks, including `hash_keys`. A job.
 */
export async function reportHeldKeys(
  tx: Transaction,
  secrets: Secrets,
  hash_keys: ReadonlyArray<{ id: string }> = [],
): Promise<number> {
  const wanted = await publicKeys(tx);
  secrets.rereadFor([...wanted.map(({ kid }) => kid), ...hash_keys.map(({ id }) => id)]);
  const kids = secrets.heldKeys();
  const all = await holders(tx);
  const reported = all.find((holder) => holder.process === thisProcess);
  const isSaid = reported?.kids.join() === kids.join();
  if (isSaid && reported && reported.seen_at > tx.now - reportAgainSeconds) return 0;
  await tx.insertMany(
    'key_holders',
    [{ process: thisProcess, kids: kids.join(), seen_at: tx.now }],
    'on conflict (process) do update set kids = excluded.kids, seen_at = excluded.seen_at',
  );
  await tx.run('delete from key_holders where seen_at < $1', [tx.now - 86_400]);
  return 0;
}

/** A process that stops is not waited for. */
export async function forgetHolder(tx: Transaction): Promise<void> {
  await tx.run('delete from key_holders where process = $1', [thisProcess]);
}
