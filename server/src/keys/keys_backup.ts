// A backup of the keys file, sealed with a passphrase, so that it may be stored where others can
// read it.
import { createCipheriv, createDecipheriv, createHash, randomBytes, scryptSync } from 'node:crypto';

/** The format of the file; everything except `sealed` is authenticated with it. */
interface SealedKeys {
  format: 'exitward-keys';
  version: 1;
  /** Epoch seconds. */
  made_at: number;
  kdf: { name: 'scrypt'; log2_n: number; r: number; p: number; salt: string };
  cipher: 'aes-256-gcm';
  nonce: string;
  sealed: string;
  /**
   * Of everything else, in hexadecimal digits: distinguishes a damaged file from a wrong
   * passphrase.
   */
  sha256: string;
}

/** About half a second and 128 MiB for each guess. */
export const cost = { log2_n: 17, r: 8, p: 1 };
export const minPassphraseLength = 12;

/** Seals the text of a keys file. Returns the text of the backup. */
export function sealKeys(text: string, passphrase: string, now: number): string {
  const head = {
    format: 'exitward-keys' as const,
    version: 1 as const,
    made_at: now,
    kdf: { name: 'scrypt' as const, ...cost, salt: randomBytes(16).toString('base64url') },
    cipher: 'aes-256-gcm' as const,
    nonce: randomBytes(12).toString('base64url'),
  };
  const cipher = createCipheriv('aes-256-gcm', keyOf(passphrase, head.kdf), bytesOf(head.nonce));
  cipher.setAAD(Buffer.from(JSON.stringify(head)));
  const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]);
  const body = { ...head, sealed: sealed.toString('base64url') };
  return `${JSON.stringify({ ...body, sha256: digestOf(body) }, null, 2)}\n`;
}

/**
 * The text of the keys file in a backup. Errors: a plain Error with one sentence: not such a
 * backup, a newer version, damaged, or a wrong passphrase.
 */
export function openKeys(backup: string, passphrase: string): string {
  const { sealed, sha256, ...head } = readBackup(backup);
  if (digestOf({ ...head, sealed }) !== sha256) throw damaged();
  const bytes = bytesOf(sealed);
  const decipher = createDecipheriv('aes-256-gcm', keyOf(passphrase, head.kdf), bytesOf(head.nonce))
    .setAAD(Buffer.from(JSON.stringify(head)))
    .setAuthTag(bytes.subarray(-16));
  try {
    const text = [decipher.update(bytes.subarray(0, -16)), decipher.final()];
    return Buffer.concat(text).toString('utf8');
  } catch {
    throw new Error('The passphrase is not the one that this backup of the keys was sealed with.');
  }
}

function readBackup(text: string): SealedKeys {
  let read: Partial<SealedKeys> | null;
  try {
    read = JSON.parse(text) as Partial<SealedKeys> | null;
  } catch {
    throw damaged();
  }
  if (read?.format !== 'exitward-keys') throw damaged();
  if (read.version !== 1) {
    throw new Error(
      'The backup of the keys was made by a newer Exitward; restore it with that one.',
    );
  }
  const { kdf, nonce, sealed, sha256 } = read;
  // Bounds, so that opening a foreign file costs no more than opening ours.
  const isKnown =
    kdf?.name === 'scrypt' &&
    [kdf.log2_n, kdf.r, kdf.p].every(Number.isInteger) &&
    kdf.log2_n >= 1 &&
    kdf.log2_n <= 20 &&
    kdf.r === 8 &&
    kdf.p === 1;
  const texts = [kdf?.salt, nonce, sealed, sha256];
  if (!isKnown || !texts.every((text) => typeof text === 'string')) throw damaged();
  if (bytesOf(nonce as string).length !== 12 || bytesOf(sealed as string).length < 17) {
    throw damaged();
  }
  return read as SealedKeys;
}

function keyOf(passphrase: string, { log2_n, r, p, salt }: SealedKeys['kdf']): Buffer {
  const N = 2 ** log2_n;
  // The same letters, however a keyboard composes them.
  const text = passphrase.normalize('NFKC');
  return scryptSync(text, bytesOf(salt), 32, { N, r, p, maxmem: 256 * N * r });
}

const bytesOf = (text: string) => Buffer.from(text, 'base64url');

function digestOf(body: object): string {
  return createHash('sha256').update(JSON.stringify(body)).digest('hex');
}

function damaged(): Error {
  return new Error('The file is not a whole backup of keys: it is damaged, or something else.');
}
