// Passwords: which are accepted, and the slow hash under which they are stored.
import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto';
import { invalidField } from '../errors.ts';

export const minPasswordLength = 12;
export const maxPasswordLength = 200;
const minDifferentCharacters = 5;

/** Errors: 400 for a new password that is too short, too long, or among the first to be guessed. */
export function checkPassword(password: string, user: { name: string; account: string }): void {
  const text = password.normalize('NFKC');
  const characters = [...text];
  const reject = (why: string) => invalidField('password', why);
  if (characters.length < minPasswordLength || characters.length > maxPasswordLength) {
    throw reject(`expected ${minPasswordLength} to ${maxPasswordLength} characters.`);
  }
  if (new Set(characters).size < minDifferentCharacters) {
    throw reject(`expected at least ${minDifferentCharacters} different characters.`);
  }
  for (const name of [user.name, user.account]) {
    if (text.toLowerCase().replaceAll(name.toLowerCase(), '').trim() === '') {
      throw reject('is nothing but a name that is easily guessed; choose another.');
    }
  }
}

interface Cost {
  log2_n: number;
  r: number;
  p: number;
}

/**
 * As OWASP recommends for scrypt, with 32 MiB per running hash. When it is raised here, each user's
 * hash follows at the next sign-in. Tests lower it.
 */
export const cost: Cost = { log2_n: 15, r: 8, p: 3 };
const hashBytes = 32;

/** A slow hash with its salt and its cost: `scrypt$15$8$3$SALT$HASH`. Call it in the hash queue. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(16);
  const hash = await derive(password, salt, cost);
  return format(cost, salt, hash);
}

/** Replaces the password of a user without one, so that the response takes equally long. */
const placeholder = { salt: randomBytes(16), hash: randomBytes(hashBytes) };

/**
 * Whether the password is the stored one; never for null, at the same cost. Call it in the hash
 * queue.
 */
export async function passwordIs(password: string, stored: string | null): Promise<boolean> {
  const [, log2_n, r, p, salt = '', hash = ''] = (
    stored ?? format(cost, placeholder.salt, placeholder.hash)
  ).split('$');
  const its: Cost = { log2_n: Number(log2_n), r: Number(r), p: Number(p) };
  const derived = await derive(password, Buffer.from(salt, 'base64url'), its);
  return timingSafeEqual(derived, Buffer.from(hash, 'base64url')) && stored !== null;
}

/** Whether a stored password was hashed at another cost than today's. */
export function isOfOldCost(stored: string): boolean {
  return !stored.startsWith(format(cost));
}

function format({ log2_n, r, p }: Cost, salt?: Buffer, hash?: Buffer): string {
  const [saltText, hashText] = [salt, hash].map((bytes) => bytes?.toString('base64url') ?? '');
  return `scrypt$${log2_n}$${r}$${p}$${saltText}${hash ? `$${hashText}` : ''}`;
}

function derive(password: string, salt: Buffer, { log2_n, r, p }: Cost): Promise<Buffer> {
  const N = 2 ** log2_n;
  const options: ScryptOptions = { N, r, p, maxmem: 256 * N * r };
  return new Promise((resolve, reject) => {
    scrypt(password.normalize('NFKC'), salt, hashBytes, options, (error, hash) =>
      error ? reject(error) : resolve(hash),
    );
  });
}
