// Slows guessing down: attempts are counted in the database before they are checked.
import ipaddr from 'ipaddr.js';
import { canonicalAddress } from '../../../kit/src/address.ts';
import type { Reader, Transaction } from '../db/database.ts';
import { tooManyRequests } from '../errors.ts';
import type { Secrets } from '../keys/secrets.ts';
import * as store from './store.ts';

/** A name or an address by which attempts are counted, and how many go without a wait. */
export interface Subject {
  /** A keyed hash: people sometimes type a password where a name belongs. */
  key: string;
  free: number;
}

const freeOfName = 5;
const freeOfAddress = 20;
const freeOfSite = 100;
const longestWaitSeconds = 900;
const forgottenSeconds = 86_400;

/**
 * The user to sign in as. Unknown names count like known ones; a browser that is known as the
 * user's counts separately.
 */
export function nameSubject(
  secrets: Secrets,
  account: string,
  user: string,
  knownBy?: string,
): Subject {
  const names = knownBy === undefined ? [account, user] : [account, user, knownBy];
  return { key: secrets.hashToken(`attempts on ${JSON.stringify(names)}`), free: freeOfName };
}

/**
 * The place of a visitor. An office behind one address has more tries, and a site with many IPv6
 * networks even more.
 */
export function addressSubjects(secrets: Secrets, address: string): Subject[] {
  const subject = (from: string, free: number) => ({
    key: secrets.hashToken(`attempts from ${from}`),
    free,
  });
  const nearest = addressPrefix(address);
  const subjects = [subject(nearest, freeOfAddress)];
  if (nearest.includes(':')) subjects.push(subject(`${networkOf(nearest, 48)}/48`, freeOfSite));
  return subjects;
}

/**
 * An IPv4 address, or the /64 of an IPv6 address, all of whose addresses usually belong to one
 * holder.
 */
export function addressPrefix(address: string): string {
  const canonical = canonicalAddress(address.replace(/%.*/, ''));
  if (canonical === undefined || !canonical.includes(':')) return canonical ?? address;
  return networkOf(canonical, 64);
}

function networkOf(ipv6: string, bits: number): string {
  return ipaddr.IPv6.networkAddressFromCIDR(`${ipv6}/${bits}`).toString();
}

/** Seconds to wait after so many failures: 2, 4, 8, … */
function waitAfter(failures: number, free: number): number {
  return failures < free ? 0 : Math.min(longestWaitSeconds, 2 ** (failures - free + 1));
}

/** Errors: 429 when one of the subjects has to wait, even with the right password. */
export async function rejectIfThrottled(
  db: Reader,
  subjects: readonly Subject[],
  now: number,
): Promise<store.AttemptsRow[]> {
  const rows = await store.attempts(
    db,
    subjects.map(({ key }) => key),
  );
  // A wait beyond the longest was set by a clock that was ahead, and would last as long as that.
  const waits = rows.map((row) => row.wait_until - now);
  const wait = Math.max(0, ...waits.filter((seconds) => seconds <= longestWaitSeconds));
  if (wait > 0) {
    throw tooManyRequests(
      `Too many attempts; try again in ${wait} seconds.`,
      { 'retry-after': String(wait) },
      { code: 'throttled' },
    );
  }
  return rows.filter((row) => now < row.at + forgottenSeconds);
}

/**
 * Counts an attempt as failed. Commit it before the attempt is checked: then attempts in parallel
 * get no further than attempts one after another. Errors: 429.
 */
export async function countAttempt(tx: Transaction, subjects: readonly Subject[]): Promise<void> {
  const rows = await rejectIfThrottled(tx, subjects, tx.now);
  for (const { key, free } of subjects) {
    const failures = (rows.find((row) => row.subject === key)?.failures ?? 0) + 1;
    await store.putAttempts(tx, {
      subject: key,
      failures,
      wait_until: tx.now + waitAfter(failures, free),
      at: tx.now,
    });
  }
}

/** Takes back one attempt that was not a guess; earlier ones stay counted. */
export async function giveBackAttempt(
  tx: Transaction,
  subjects: readonly Subject[],
): Promise<void> {
  for (const { key } of subjects) await store.takeAttempt(tx, key);
}

/** Removes all attempts on a user who has signed in. */
export async function clearAttempts(tx: Transaction, subject: Subject): Promise<void> {
  await store.removeAttempts(tx, subject.key);
}

/** Removes counts that are too old to make an attempt wait. */
export function purgeAttempts(tx: Transaction, maxAttempts: number): Promise<number> {
  return store.purgeAttempts(tx, tx.now - forgottenSeconds, maxAttempts);
}
