// Pasted addresses, one on a line: a preview of each line, and adding all of them or none.

import type { Address } from '../../../kit/src/address.ts';
import type { Account } from '../accounts/accounts.ts';
import { audit } from '../changes/audit.ts';
import { countHeld, heldCount, nextId, recordChange } from '../changes/changes.ts';
import type { Transaction } from '../db/database.ts';
import { inTurns } from '../db/slices.ts';
import { ApiError, conflict, type ErrorCode, invalidField } from '../errors.ts';
import { newNote } from '../lists/notes.ts';
import { findUserNamed } from '../users/users.ts';
import { parseAddress } from '../values/address.ts';
import { checkExpiry } from '../values/expiry.ts';
import { addressTaken, expiredOf, freeClaim, isWeaker, sweepOwnExpired } from './claims.ts';
import { type NewEntry, unknownUser } from './entries.ts';
import { newProof } from './proofs.ts';
import type { AuthlistRules } from './rules.ts';
import * as store from './store.ts';

/** A line that is neither blank nor a comment, counted from 1. */
export interface PastedLine {
  line: number;
  text: string;
  /** The text after # on the line. */
  note: string;
}

/** `new`: is added; `listed`: the user has it; `repeated`: an earlier line has the same address. */
interface GoodLine {
  line: number;
  ip: Address;
  outcome: 'new' | 'listed' | 'repeated';
  /** The id of an entry that was added. */
  id?: number;
}

/** A line that cannot be added, as it was written. */
interface BadLine {
  line: number;
  ip: string;
  outcome: 'fault';
  /** The fault, for programs and for people. */
  code: ErrorCode;
  message: string;
}

export type LineOutcome = GoodLine | BadLine;

/** The maximum number of addresses that can be added at once. */
const maxAtOnce = 1000;
const longestNote = 200;

/** The lines with addresses. Errors: 400 without any, and for more than can be added at once. */
export function pastedLines(text: string): PastedLine[] {
  const lines = text.split(/\r\n|\r|\n/).flatMap((whole, at) => {
    const [address = '', ...notes] = whole.split('#');
    const line = { line: at + 1, text: address.trim(), note: notes.join('#').trim() };
    return line.text === '' ? [] : [line];
  });
  if (lines.length === 0) throw invalidField('addresses', 'expected addresses, one on each line.');
  if (lines.length > maxAtOnce) {
    throw invalidField(
      'addresses',
      `holds ${lines.length} addresses; expected at most ${maxAtOnce} at once.`,
    );
  }
  return lines;
}

type Pasted = Omit<NewEntry, 'ip'> & { lines: readonly PastedLine[] };

/**
 * Previews each line, and writes nothing. Errors: 400 for an invalid expiry; 409 for a user who is
 * not in the account, or when the list has no room for all; 429 when the account would learn of too
 * many taken addresses.
 */
export async function examinePasted(
  tx: Transaction,
  { id: account_id, port_scheme_id }: Account,
  { lines, user, expiry }: Pasted,
  rules: AuthlistRules,
): Promise<LineOutcome[]> {
  checkExpiry(expiry, tx.now);
  const rejectTooMany = () => rules.conflicts?.rejectTooMany(tx, account_id);
  rejectTooMany();
  const userRow = await findUserNamed(tx, account_id, user);
  if (!userRow) throw unknownUser(user);
  const seen = new Set<Address>();
  const outcomes = lines.map(({ line, text, note }): LineOutcome => {
    try {
      const ip = parseAddress('ip', text, rules);
      if (note.length > longestNote) {
        throw invalidField('note', `expected at most ${longestNote} characters behind the #.`);
      }
      const outcome = seen.has(ip) ? 'repeated' : 'new';
      seen.add(ip);
      return { line, ip, outcome };
    } catch (error) {
      return faultOf({ line, ip: text }, error);
    }
  });
  const claims = await store.claimsOnAny(tx, port_scheme_id, [...seen]);
  const claimOn = new Map(claims.map((claim) => [claim.ip, claim]));
  const examined = outcomes.map((outcome): LineOutcome => {
    if (outcome.outcome !== 'new') return outcome;
    const claim = claimOn.get(outcome.ip);
    if (!claim || claim.removal_id !== null || tx.now >= claim.expiry) return outcome;
    if (claim.account_id === account_id && claim.user_id === userRow.id) {
      return { ...outcome, outcome: 'listed' };
    }
    const proof = newProof(rules.vouches === true, rules.authlist_proof, tx.now);
    if (isWeaker(claim, account_id, proof, rules)) return outcome;
    rejectTooMany();
    rules.conflicts?.count(tx, account_id);
    return faultOf(outcome, addressTaken(outcome.ip));
  });
  const added = examined.filter(({ outcome }) => outcome === 'new').length;
  const expired = await expiredOf(tx, account_id);
  const count = (await heldCount(tx, account_id, 'authlist')) - expired.length;
  if (added > 0 && count + added > rules.max_authlist_entries) {
    throw conflict(
      `The list holds ${count} entries, and ${added} would be added: an account may have ${rules.max_authlist_entries}; remove some first.`,
      { code: 'list_full' },
    );
  }
  return examined;
}

function faultOf({ line, ip }: Pick<LineOutcome, 'line' | 'ip'>, error: unknown): BadLine {
  if (!(error instanceof ApiError)) throw error;
  const { code, field, message } = error;
  const sentence = field === undefined ? message : message.slice(`${field}: `.length);
  return { line, ip, outcome: 'fault', code, message: sentence };
}

/**
 * Adds all addresses that the user doesn't have. Errors: those of `examinePasted`; 400 or 409 for a
 * line that cannot be added.
 */
export async function addPasted(
  tx: Transaction,
  account: Account,
  pasted: Pasted,
  rules: AuthlistRules,
): Promise<LineOutcome[]> {
  const outcomes = await examinePasted(tx, account, pasted, rules);
  const faults = outcomes.filter((line) => line.outcome === 'fault');
  if (faults.length > 0) throw faultsOf(faults);
  const { id: account_id, port_scheme_id } = account;
  const user = await findUserNamed(tx, account_id, pasted.user);
  if (!user) throw unknownUser(pasted.user);
  const proof = newProof(rules.vouches === true, rules.authlist_proof, tx.now);
  await sweepOwnExpired(tx, account_id);
  const added = outcomes.filter((line): line is GoodLine => line.outcome === 'new');
  const ips = added.map(({ ip }) => ip);
  for (const { ip } of await store.claimsOnAny(tx, port_scheme_id, ips)) {
    await freeClaim(tx, account, ip, rules, proof);
  }
  const notes = new Map(pasted.lines.map(({ line, note }) => [line, note]));
  const rows: store.AuthlistRow[] = [];
  for (const outcome of added) {
    const { line, ip } = outcome;
    const id = await nextId(tx, account_id, 'authlist');
    outcome.id = id;
    const noted = newNote(tx, notes.get(line) || pasted.note);
    const { expiry } = pasted;
    rows.push({ account_id, id, port_scheme_id, ip, user_id: user.id, expiry, ...proof, ...noted });
  }
  await store.putBack(tx, rows);
  await countHeld(tx, account_id, 'authlist', rows.length);
  for await (const { id, ip, expiry, note } of inTurns(rows)) {
    await recordChange(tx, { kind: 'authlist', account_id, record_id: id });
    await audit(tx, {
      account_id,
      action: 'authlist.create',
      target: `authlist/${id}`,
      after: { ip, user: user.name, expiry, ...(note === '' ? {} : { note }) },
    });
  }
  return outcomes;
}

/** The first fault, with its line, and the number of faults. */
function faultsOf(faults: readonly BadLine[]): ApiError {
  const [{ line, code, message } = faults[0] as BadLine] = faults;
  const more = faults.length > 1 ? ` ${faults.length} lines cannot be added.` : '';
  const sentence = `line ${line}: ${message}${more} Nothing was added.`;
  if (code === 'invalid_field') return invalidField('addresses', sentence);
  return conflict(sentence, { code, field: 'addresses' });
}
