// exitward keys: backs up and restores the keys file of this machine, and rotates the keys that
// sign and hash.
import { dirname, resolve } from 'node:path';
import type { Noun } from '../../../kit/src/cli/command.ts';
import { Failure } from '../../../kit/src/cli/failures.ts';
import { readInput } from '../../../kit/src/cli/input.ts';
import type { Options } from '../../../kit/src/cli/options.ts';
import { type Column, done, type Shown, table } from '../../../kit/src/cli/output.ts';
import { createDurably } from '../../../kit/src/durable.ts';
import { isThere, readPrivate } from '../../../kit/src/private_files.ts';
import type { Environment } from '../../../kit/src/settings.ts';
import { systemClock } from '../clock.ts';
import { type Config, readConfig } from '../config.ts';
import type { Actor, Database, Transaction } from '../db/database.ts';
import { conflict } from '../errors.ts';
import { activateHashKey, hashesToRenew, listHashKeys, prepareHashKey } from '../keys/hash_keys.ts';
import { openKeys, sealKeys } from '../keys/keys_backup.ts';
import { addHashKey, addSigningKey, loadSecrets, readSecrets } from '../keys/keys_file.ts';
import {
  activateKey,
  findPrepared,
  listSigningKeys,
  prepareKey,
  revokeKey,
  type SigningKey,
} from '../keys/signing_keys.ts';
import type { Row } from './columns.ts';
import { command } from './command.ts';
import { readPassphrase } from './passphrase.ts';
import { requireKeysOf, withCurrentDatabase } from './storage.ts';

const passphraseFile = {
  'passphrase-file': {
    summary: 'file with the passphrase; - for standard input (default: prompt)',
    value: '<file>',
    read: String,
  },
} as const satisfies Options;

/** The keys file of this machine. */
export const keysNoun: Noun<Environment> = {
  noun: 'keys',
  summary: 'keys for sealing, hashing and signing, in the keys file of this machine',
  commands: [
    command({
      name: 'keys backup',
      summary: 'write the keys to a file, sealed with a passphrase',
      arguments: { file: { read: String } },
      options: passphraseFile,
      run: ({ arguments: { file }, options }, env) =>
        backUpKeys(env, file, options['passphrase-file']),
    }),
    command({
      name: 'keys restore',
      summary: 'restore the keys file from a backup, if there is none',
      arguments: { file: { read: String } },
      options: passphraseFile,
      run: ({ arguments: { file }, options }, env) =>
        restoreKeys(env, file, options['passphrase-file']),
    }),
    command({
      name: 'keys list',
      list: true,
      summary: 'list the keys with their use, age and when each can be removed',
      run: (_given, env) => listKeys(env),
    }),
    command({
      name: 'keys rotate',
      summary: 'prepare a new signing key for proxy access tokens; with --activate, use it',
      options: {
        hash: { summary: 'rotate the key that hashes tokens instead; tokens stay valid' },
        activate: {
          summary: 'use the prepared key, once all processes and nodes know it',
        },
        force: { summary: "with --activate: even if a node doesn't know the key" },
      },
      run: ({ options }, env) => rotateKeys(env, options),
    }),
    command({
      name: 'keys revoke',
      summary: 'revoke a stolen signing key, and all tokens signed with it, at once',
      arguments: { key: { read: String } },
      question: ({ arguments: { key } }) =>
        `This revokes all proxy access tokens signed by ${key}, and ends their connections.`,
      run: ({ arguments: { key } }, env) => endKey(env, key),
    }),
  ],
};

interface Rotation {
  hash: boolean;
  activate: boolean;
  force: boolean;
}

const operator: Actor = { kind: 'system', name: 'exitward keys', address: '', request_id: '' };

/** Prepares a new key for signing or hashing, or activates the prepared one. */
async function rotateKeys(env: Environment, options: Rotation): Promise<Shown> {
  const config = readConfig(env);
  const { keys_file } = config;
  const value = await withCurrentDatabase(config, async (db) => {
    const secrets = await requireKeysOf(db, config);
    if (!options.activate) return options.hash ? prepareHash(db, config) : prepare(db, config);
    return db.write(operator, async (tx) => {
      const kid = await (options.hash ? activateHash(tx) : activate(tx, options.force));
      // While no server runs, no process would notice this, and no server would start any more.
      if (secrets.heldKeys().includes(kid)) return { kid };
      throw new Failure(
        `The keys file ${keys_file} does not have the key ${kid}: replace it with one that does, or prepare another key.`,
      );
    });
  });
  const [does, prepared, then] = options.hash
    ? ['Hashes are made with', 'hashing', 'exitward keys rotate --hash --activate']
    : ['Proxy access tokens are signed with', 'signing', 'exitward keys rotate --activate'];
  const before = options.hash
    ? 'A running server renews the older ones within minutes, and all tokens stay valid.'
    : 'Older ones stay valid until they expire.';
  const when = options.hash ? 'run' : 'when the nodes have applied the change, run';
  const sentence = options.activate
    ? `${does} ${value.kid} from now on. ${before}`
    : `Prepared the ${prepared} key ${value.kid} in ${keys_file}; it is not used yet. Copy the file to each process of this network, and back it up again. Then ${when}: ${then}`;
  return done(sentence, value);
}

async function prepareHash(db: Database, config: Config): Promise<{ kid: string }> {
  const inUse = (await listHashKeys(db)).filter(({ activated_at }) => activated_at !== null);
  // As for signing keys: the file is written before the database, so a process that ends here
  // leaves a key that the next call takes.
  const key = addHashKey(config.keys_file, inUse.length, config.mounted_secrets);
  await db.write(operator, (tx) => prepareHashKey(tx, key));
  return { kid: key.id };
}

async function activateHash(tx: Transaction): Promise<string> {
  return (await activateHashKey(tx)).id;
}

/** Ends a signing key, whatever tokens it has signed. */
async function endKey(env: Environment, kid: string): Promise<Shown> {
  const config = readConfig(env);
  await withCurrentDatabase(config, (db) => db.write(operator, (tx) => revokeKey(tx, kid)));
  const sentence = `The signing key ${kid} is revoked: nodes refuse its tokens and end their connections as soon as they get the change.`;
  return done(sentence, { revoked: kid });
}

async function prepare(db: Database, config: Config): Promise<{ kid: string }> {
  const { keys_file, mounted_secrets } = config;
  const signingKeys = await listSigningKeys(db);
  const prepared = await findPrepared(db);
  if (prepared) {
    throw new Failure(
      `The signing key ${prepared.kid} is already prepared; run "exitward keys rotate --activate", or "exitward keys revoke ${prepared.kid}" if the keys file has lost it.`,
    );
  }
  const removedKids = signingKeys.filter(({ gone_at }) => gone_at !== null).map(({ kid }) => kid);
  const all = signingKeys.map(({ kid }) => kid);
  // The private key is on the disk before anything refers to it: a process that ends here leaves a
  // key that the next call takes.
  const { secrets, kid } = addSigningKey(keys_file, all, removedKids, mounted_secrets);
  const key = secrets.publicKeys().find((publicKey) => publicKey.kid === kid);
  if (!key) throw new Failure('The new key is not in the keys file.');
  await db.write(operator, (tx) => prepareKey(tx, key));
  return { kid };
}

async function activate(tx: Transaction, force: boolean): Promise<string> {
  const prepared = await findPrepared(tx);
  const { listNodes } = await import('../nodes/nodes.ts');
  const laggingNodes = (await listNodes(tx)).filter(
    ({ revoked_at, applied_revision }) =>
      prepared && revoked_at === null && applied_revision < prepared.prepared_revision,
  );
  if (laggingNodes.length > 0 && !force) {
    const names = laggingNodes.map(({ name, server }) => `${name} (${server})`).join(', ');
    throw conflict(
      `these nodes do not know the signing key ${prepared?.kid} yet and would refuse its tokens: ${names}. Wait for them, revoke those that are gone for good, or add --force.`,
    );
  }
  return (await activateKey(tx)).kid;
}

async function listKeys(env: Environment): Promise<Shown> {
  const config = readConfig(env);
  const { keys_file, mounted_secrets } = config;
  const secrets = loadSecrets(keys_file, true, mounted_secrets);
  const kidsInFile = new Set(secrets.heldKeys());
  const now = systemClock.now();
  const [keys, hashing] = await withCurrentDatabase(config, async (db) => {
    const signing = (await listSigningKeys(db)).map((key) => ({ ...key, state: stateOf(key) }));
    return [signing, await hashingRows(db)];
  });
  const rows: Row[] = [
    { kid: secrets.key_id, use: 'seal, hash', state: 'in use', in_file: true },
    ...hashing.map((key) => ({ ...key, use: 'hash' })),
    ...keys.map((key) => ({
      ...key,
      use: 'sign',
      ends_at: key.state === 'verifies' ? key.last_expiry : null,
    })),
  ].map((key) => ({
    in_file: kidsInFile.has(key.kid),
    ...('prepared_at' in key
      ? { age_days: Math.floor((now - key.prepared_at) / 86_400) }
      : undefined),
    ...key,
  }));
  const columns: Column[] = [
    ['key', 'kid'],
    'use',
    'state',
    ['in file', 'in_file'],
    ['since', 'prepared_at', 'time'],
    ['days', 'age_days'],
    ['signs from', 'activated_at', 'time'],
    ['last token ends', 'last_expiry', 'time'],
    ['can go', 'ends_at', 'time'],
  ];
  return table(rows, columns, { noun: 'keys' });
}

/** The hashing keys after the first, and how many stored hashes still need the newest one. */
async function hashingRows(db: Database) {
  const keys = await listHashKeys(db);
  const newest = keys.findLast(({ activated_at }) => activated_at !== null);
  const waiting = newest ? await hashesToRenew(db, newest.number) : 0;
  return keys.map((key) => {
    const waits = key === newest && waiting > 0 ? `, ${waiting} hashes to renew` : '';
    return { ...key, kid: key.id, state: key.activated_at ? `in use${waits}` : 'prepared' };
  });
}

function stateOf(key: SigningKey): string {
  if (key.gone_at !== null) return 'gone';
  if (key.superseded_at !== null) return 'verifies';
  return key.activated_at === null ? 'prepared' : 'signs';
}

async function backUpKeys(
  env: Environment,
  file: string,
  passphraseFile: string | undefined,
): Promise<Shown> {
  const { keys_file, mounted_secrets } = readConfig(env);
  const target = resolve(file);
  if (isThere(target)) throw new Failure(`${target} already exists; use another name.`);
  if (!isThere(dirname(target))) throw new Failure(`There is no folder ${dirname(target)}.`);
  const { key_id } = loadSecrets(keys_file, true, mounted_secrets);
  const text = readPrivate(keys_file, { mounted: mounted_secrets });
  const passphrase = await readPassphrase(passphraseFile, true);
  const sealed = sealKeys(text, passphrase, systemClock.now());
  // Read back before it is relied on.
  if (openKeys(sealed, passphrase) !== text) throw new Failure('The keys could not be sealed.');
  if (!createDurably(target, sealed)) throw new Failure(`${target} already exists.`);
  const sentence = `Wrote ${target}: the keys ${key_id}, sealed with the passphrase. Keep both, in two places: each is useless without the other.`;
  return done(sentence, { file: target, key_id });
}

async function restoreKeys(
  env: Environment,
  file: string,
  passphraseFile: string | undefined,
): Promise<Shown> {
  const { keys_file } = readConfig(env);
  if (isThere(keys_file)) {
    throw new Failure(
      `The keys file ${keys_file} already exists and may be needed: move it away first.`,
    );
  }
  const backup = readInput(resolve(file));
  const text = openKeys(backup, await readPassphrase(passphraseFile, false));
  const { key_id } = readSecrets(text, file);
  if (!createDurably(keys_file, text)) throw new Failure(`${keys_file} already exists.`);
  const sentence = `Restored the keys ${key_id} as ${keys_file}.`;
  return done(sentence, { file: keys_file, key_id });
}
