// The address of this machine, as the service sees it: finds it, lists it, and keeps it listed.

import { Failure } from '../../../kit/src/cli/failures.ts';
import { notify } from '../../../kit/src/cli/output.ts';
import { timeInWords } from '../../../kit/src/cli/values.ts';
import type { Exitward } from '../client.ts';
import { BadRequestError, ConnectionError, ExitwardError, NotFoundError } from '../errors.ts';
import type { AuthlistEntry } from '../openapi.ts';
import { pause } from '../retries.ts';
import { canonicalAddress, isSameAddress, now } from './values.ts';

/** An entry lasts for this many checks, so that a few may fail. */
const looks = 5;
/** Few retries: a failed check is followed by another one anyway. */
const briefly = { retries: 1, timeoutSeconds: 10 };
const probeSeconds = 60;

/** Whether it is one of these conflicts. A service without specific codes has one code for all. */
function isConflict(error: unknown, ...codes: string[]): error is ExitwardError {
  return error instanceof ExitwardError && [...codes, 'conflict'].includes(error.code ?? '');
}

/** The address that is listed already, which only the message has; undefined for other errors. */
function addressListedBy(error: unknown): string | undefined {
  return isConflict(error, 'address_taken') ? addressIn(error.message) : undefined;
}

function addressIn(message: string): string | undefined {
  const words = message.split(/[\s"'`,;()<>]+/).map((word) => word.replace(/\.$/, ''));
  return words.find((word) => canonicalAddress(word) !== undefined);
}

/** The entry of an address. Errors: a failure when the account has none. */
export async function requireEntry(client: Exitward, ip: string): Promise<AuthlistEntry> {
  const entries = await client.authlist.list({ ip });
  const entry = entries.find((listed) => isSameAddress(listed.ip, ip));
  if (entry) return entry;
  throw new Failure(`${ip} is not on the authlist of this account.`);
}

/** The address of this machine, and its entry, if there is one. */
interface Own {
  ip: string;
  entry?: AuthlistEntry;
}

/** The address of this machine, found without changing a record. Errors: as `seenAddress`. */
export async function ownAddress(client: Exitward): Promise<Own> {
  const ip = await seenAddress(client);
  const entry = (await client.authlist.list({ ip })).find((listed) => isSameAddress(listed.ip, ip));
  return entry ? { ip, entry } : { ip };
}

/** No user has this name, as names begin with a letter or a digit. */
const impossibleUser = '-';

/**
 * The address from which the service sees this machine. The API reveals it only when it is listed:
 * this requests an entry for a user that cannot exist, and the refusal names the address.
 * Errors: those of the service, also for a read-only token; a failure when it is not named.
 */
async function seenAddress(client: Exitward): Promise<string> {
  try {
    await client.authlist.add({ user: impossibleUser, expiry: now() + probeSeconds });
  } catch (error) {
    if (!isConflict(error, 'unknown_user', 'address_taken')) throw error;
    const ip = addressIn(error.message);
    if (ip !== undefined) return ip;
  }
  throw new Failure("The service doesn't say which address this machine calls from.");
}

/** The entry of this machine's address. Errors: a failure when it is not listed. */
export async function requireOwnEntry(client: Exitward): Promise<AuthlistEntry> {
  const { ip, entry } = await ownAddress(client);
  if (entry) return entry;
  throw new Failure(`Your address, ${ip}, is not on the authlist.`);
}

export interface Terms {
  user: string;
  /** How often the address is checked. */
  everySeconds: number;
  /** When to stop; default: never. */
  end?: number | undefined;
  /** Called for each address that is listed. */
  onListed?: (entry: AuthlistEntry) => void;
}

/**
 * Keeps the address of this machine listed, by an entry that expires soon and is renewed: even if
 * this program is killed, the address does not stay listed. An existing entry for the address is
 * not changed.
 */
export class OwnAddress {
  readonly #client: Exitward;
  readonly #terms: Terms;
  #ownEntry: AuthlistEntry | undefined;
  #others: AuthlistEntry | undefined;

  constructor(client: Exitward, terms: Terms) {
    this.#client = client;
    this.#terms = terms;
  }

  /**
   * Lists the address now; resolves when the proxies have applied it, or after `waitSeconds`.
   * Errors: those of the service; a failure when another account lists it.
   */
  async look(waitSeconds = 0): Promise<void> {
    const { user } = this.#terms;
    const options = { ...briefly, waitSeconds };
    let added: AuthlistEntry;
    try {
      added = await this.#client.authlist.add({ user, expiry: this.#expiry() }, options);
    } catch (error) {
      return this.#listedAlready(error);
    }
    await this.remove();
    this.#ownEntry = added;
    this.#others = undefined;
    this.#terms.onListed?.(added);
  }

  /** Checks the address regularly until the signal or the end. Errors: lasting ones. */
  async keep(signal: AbortSignal): Promise<void> {
    for (;;) {
      const seconds = this.#untilNextLook();
      const isOver = await pause(seconds, signal).then(
        () => now() >= (this.#terms.end ?? Number.POSITIVE_INFINITY),
        () => true,
      );
      if (isOver) return;
      try {
        await this.look();
      } catch (error) {
        if (this.#hasEnded(error)) return;
        if (!passes(error)) throw error;
        notify(`exw: ${error.message} Trying again.`);
      }
    }
  }

  /** Removes the address from the list. */
  async remove(): Promise<void> {
    const entry = this.#ownEntry;
    this.#ownEntry = undefined;
    if (!entry) return;
    try {
      await this.#client.authlist.remove(entry.id, briefly);
    } catch (error) {
      if (error instanceof NotFoundError || !(error instanceof ExitwardError)) return;
      const until = timeInWords(entry.expiry);
      notify(
        `exw: ${entry.ip} could not be removed and stays listed until ${until}: ${error.message}`,
      );
    }
  }

  /** The user that connections from the address count as, also by an entry that existed before. */
  get user(): string {
    return (this.#ownEntry ?? this.#others)?.user ?? this.#terms.user;
  }

  get #lifetime(): number {
    return this.#terms.everySeconds * looks;
  }

  #expiry(): number {
    return Math.min(now() + this.#lifetime, this.#terms.end ?? Number.POSITIVE_INFINITY);
  }

  /**
   * Whether the service refuses the last expiry because the end has passed: its clock is ahead, or
   * the request took long. All other fields were accepted before.
   */
  #hasEnded(error: unknown): boolean {
    const isLast = this.#expiry() === this.#terms.end;
    return isLast && error instanceof BadRequestError && error.code === 'invalid_field';
  }

  /** Seconds. An entry that existed before may expire before the next check. */
  #untilNextLook(): number {
    const { everySeconds, end = Number.POSITIVE_INFINITY } = this.#terms;
    const othersEnd = this.#others?.expiry ?? Number.POSITIVE_INFINITY;
    return Math.max(0, Math.min(everySeconds, end - now(), othersEnd + 1 - now()));
  }

  /** The address is listed already: by our own entry, or by another. Errors: any other error. */
  async #listedAlready(error: unknown): Promise<void> {
    const ip = addressListedBy(error);
    // When the service does not name the address, it is assumed to be the same.
    const isOurs = this.#ownEntry && (ip === undefined || isSameAddress(ip, this.#ownEntry.ip));
    if (isOurs && isConflict(error, 'address_taken')) return this.#renew();
    if (ip === undefined) throw error;
    await this.remove();
    const entry = await requireEntry(this.#client, ip);
    if (this.#others?.id === entry.id) return;
    this.#others = entry;
    const until = timeInWords(entry.expiry);
    notify(`${ip} is already listed for ${entry.user} until ${until}; that entry is not changed.`);
  }

  async #renew(): Promise<void> {
    const ownEntry = this.#ownEntry;
    if (!ownEntry || ownEntry.expiry - now() > this.#lifetime / 2) return;
    try {
      const expiry = this.#expiry();
      this.#ownEntry = await this.#client.authlist.change(ownEntry.id, { expiry }, briefly);
    } catch (error) {
      if (!(error instanceof NotFoundError)) throw error;
      // It has just expired, or was removed.
      this.#ownEntry = undefined;
      await this.look();
    }
  }
}

/** Whether the failure may be gone at the next check. */
function passes(error: unknown): error is Error {
  if (error instanceof Failure || error instanceof ConnectionError) return true;
  if (!(error instanceof ExitwardError) || error.status === undefined) return false;
  return error.status === 429 || error.status >= 500;
}
