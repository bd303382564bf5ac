// The file of the network's keys, next to the database and never in it: read, created, and written
// again with a further key.
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { createDurably, removeUnfinished, replaceDurably } from '../../../kit/src/durable.ts';
import { OpenToOthers, readPrivate } from '../../../kit/src/private_files.ts';
import { type KeysFile, Secrets } from './secrets.ts';

/**
 * Reads the keys, or creates them (mode 0600) where there are none yet, unless a database depends
 * on them (`mustExist`). `mounted`: the folder in which a container gets its secrets.
 * Errors: a plain Error with one sentence; it never contains the file's content.
 */
export function loadSecrets(path: string, mustExist: boolean, mounted?: string): Secrets {
  let text: string;
  try {
    text = readPrivate(path, { mounted });
    removeUnfinished(path);
  } catch (error) {
    if (error instanceof OpenToOthers) throw error;
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ENOENT') throw new Error(`The keys file ${path} cannot be read (${code}).`);
    if (mustExist) {
      throw new Error(
        `There is no keys file ${path}, and this database was used with one; restore it by "exitward keys restore" from your backup of the keys, or set EXITWARD_KEYS_FILE.`,
      );
    }
    text = makeKeysFile(path);
  }
  return readSecrets(text, path, () => JSON.parse(readPrivate(path, { mounted })) as KeysFile);
}

/** The keys in a file's text. Errors: as above, when they are damaged. */
export function readSecrets(text: string, path: string, reread?: () => KeysFile): Secrets {
  try {
    return new Secrets(JSON.parse(text) as KeysFile, reread);
  } catch {
    throw new Error(
      `The keys file ${path} is damaged; move it away and restore it by "exitward keys restore".`,
    );
  }
}

function makeKeysFile(path: string): string {
  const text = textOf(newKeys());
  return orNotWritten(path, () => {
    const isOurs = createDurably(path, text);
    removeUnfinished(path);
    return isOurs ? text : readPrivate(path);
  });
}

/** New random keys. */
export function newKeys(): KeysFile {
  return {
    seal: newKey(),
    hash: newKey(),
    signing: [newSigningKey()],
  };
}

const newKey = () => randomBytes(32).toString('base64url');

function newSigningKey(): KeysFile['signing'][number] {
  const { privateKey } = generateKeyPairSync('ed25519');
  return {
    kid: randomBytes(4).toString('hex'),
    private_key: privateKey.export({ format: 'der', type: 'pkcs8' }).toString('base64url'),
  };
}

/**
 * Adds a signing key to the file, before the others: programs without rotation sign with the last
 * one. Removes the keys in `removedKids`. If an interrupted call has added a key that is not in
 * `knownKids`, that one is used. Returns the keys as they are in the file then. Errors: as
 * `loadSecrets`, and when the file cannot be written.
 */
export function addSigningKey(
  path: string,
  knownKids: readonly string[],
  removedKids: readonly string[],
  mounted?: string,
): { secrets: Secrets; kid: string } {
  const file = JSON.parse(readPrivate(path, { mounted })) as KeysFile;
  const staying = file.signing.filter(({ kid }) => !removedKids.includes(kid));
  const added = staying.find(({ kid }) => !knownKids.includes(kid));
  const next = added ?? newSigningKey();
  const signing = added ? staying : [next, ...staying];
  return { secrets: replaceKeys(path, { ...file, signing }), kid: next.kid };
}

/**
 * Adds a hashing key to the file, after the `knownCount` that the database knows; a key that an
 * interrupted call has added is used. Returns it with its number. Errors: as `addSigningKey`.
 */
export function addHashKey(
  path: string,
  knownCount: number,
  mounted?: string,
): { number: number; id: string } {
  const file = JSON.parse(readPrivate(path, { mounted })) as KeysFile;
  const all = file.hash_next ?? [];
  const hash_next = all.length > knownCount ? all : [...all, newKey()];
  const id = replaceKeys(path, { ...file, hash_next }).hashKeyIds()[knownCount];
  if (id === undefined)
    throw new Error(`The keys file ${path} lacks a hashing key that is in use.`);
  return { number: knownCount + 2, id };
}

function replaceKeys(path: string, file: KeysFile): Secrets {
  const text = textOf(file);
  orNotWritten(path, () => replaceDurably(path, text));
  return readSecrets(text, path);
}

const textOf = (file: KeysFile) => `${JSON.stringify(file, null, 2)}\n`;

/** Writes the file. Errors: one sentence with the code of the disk's refusal. */
function orNotWritten<T>(path: string, write: () => T): T {
  try {
    return write();
  } catch (error) {
    throw new Error(
      `The keys file ${path} cannot be written (${(error as NodeJS.ErrnoException).code}).`,
      { cause: error },
    );
  }
}
