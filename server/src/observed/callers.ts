// Callers: the addresses that each account called from lately, in memory until they are checked
// against its authlist entries.

import type { Logger } from 'pino';
import type { Actor, Database, Reader, Transaction } from '../db/database.ts';

interface Caller {
  account_id: number;
  ip: string;
}

/** The functions of the authlist that verify entries by their callers. */
interface Verifiable {
  canVerify(db: Reader, callers: readonly Caller[]): Promise<boolean>;
  verifyEntries(tx: Transaction, callers: readonly Caller[]): Promise<void>;
}

const actor: Actor = { kind: 'system', name: 'authlist', address: '', request_id: '' };
const batch = 500;
/** Any number of IPv6 addresses may call. Those left out are noted when they call again. */
const maxAddressesOfAccount = 256;

export class Callers {
  #addresses = new Map<number, Set<string>>();
  readonly #entries: Verifiable;

  constructor(entries: Verifiable) {
    this.#entries = entries;
  }

  /** Notes that the account called from an address, in canonical form. */
  note(account_id: number, ip: string): void {
    let ofAccount = this.#addresses.get(account_id);
    if (!ofAccount) {
      ofAccount = new Set();
      this.#addresses.set(account_id, ofAccount);
    }
    if (ofAccount.size < maxAddressesOfAccount) ofAccount.add(ip);
  }

  /**
   * Verifies entries for the addresses noted since the last look; writes only if there are any. If
   * that fails, the addresses are noted again when they call.
   */
  async look({ db, log }: { db: Database; log: Logger }): Promise<void> {
    const callers = Array.from(this.#addresses).flatMap(([account_id, addresses]) =>
      Array.from(addresses, (ip) => ({ account_id, ip })),
    );
    this.#addresses = new Map();
    try {
      for (let at = 0; at < callers.length; at += batch) {
        const slice = callers.slice(at, at + batch);
        if (!(await this.#entries.canVerify(db, slice))) continue;
        await db.write(actor, (tx) => this.#entries.verifyEntries(tx, slice));
      }
    } catch (error) {
      log.warn({ err: error }, 'callers could not be checked against the authlist');
    }
  }
}
