// The address of this machine, as the service sees it: found, listed, and kept listed while it changes.

import { Failure } from '../../../kit/src/cli/failures.ts';
import { notify } from '../../../kit/src/cli/output.ts';
import { timeInWords } from '../../../kit/src/cli/values.ts';
import type { Exitward } from '../client.ts';
import { BadRequestError, ConnectionError, ExitwardError, NotFoundError } from '../errors.ts';
import type { AuthlistEntry } from '../openapi.ts';
import { pause } from '../retries.ts';
import { canonicalAddress, isSameAddress, now } from './values.ts';

/** An entry lives for so many looks, so that a few may fail. */
const looks = 5;
/** A look that fails is followed by another one anyway. */
const briefly = { retries: 1, timeoutSeconds: 10 };
const probe_seconds = 60;

/** Whether it is one of these conflicts. A service without specific codes has one for all of them. */
function isConflict(error: unknown, ...codes: string[]): error is ExitwardError {
  return error instanceof ExitwardError && [...codes, 'conflict'].includes(error.code ?? '');
}

/** The address that is listed already, which the message alone has; undefined for any other error. */
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
  const entry = entries.find((one) => isSameAddress(one.ip, ip));
  if (entry) return entry;
  throw new Failure(`${ip} is not on the authlist of this account.`);
}

/** The address of this machine, and its entry, where there is one. */
interface Own {
  ip: string;
  entry?: AuthlistEntry;
}

/** The address of this machine; no record is changed. Errors: as `seenAddress`. */
export async function ownAddress(client: Exitward): Promise<Own> {
  const ip = await seenAddress(client);
  const entry = (await client.authlist.list({ ip })).find((one) => isSameAddress(one.ip, ip));
  return entry ? { ip, entry } : { ip };
}

/** No user has this name, as names begin with a letter or a digit. */
const nobody = '-';

/**
 * The address from which the service sees this machine. The interface tells it to those alone who list it: an entry for a
 * user whom no account has is asked for, and the refusal names the address. Errors: those of the service, also for a token
 * that only reads; a failure where the refusal does not name it.
 */
async function seenAddress(client: Exitward): Promise<string> {
  try {
    await client.authlist.add({ user: nobody, expiry: now() + probe_seconds });
  } catch (error) {
    if (!isConflict(error, 'unknown_user', 'address_taken')) throw error;
    const ip = addressIn(error.message);
    if (ip !== undefined) return ip;
  }
  throw new Failure('The service does not tell from which address it is called.');
}

/** The entry of this machine's address. Errors: a failure when it is not listed. */
export async function requireOwnEntry(client: Exitward): Promise<AuthlistEntry> {
  const { ip, entry } = await ownAddress(client);
  if (entry) return entry;
  throw new Failure(`Your address, ${ip}, is not on the authlist.`);
}

export interface Terms {
  user: string;
  /** How often the address is looked at. */
  every_seconds: number;
  /** When to stop; never, when left out. */
  end?: number | undefined;
  /** Hears of each address that is listed. */
  onListed?: (entry: AuthlistEntry) => void;
}

/**
 * Keeps the address of this machine listed, by an entry that soon expires and is renewed: whatever
 * happens to this program, the address does not stay listed. An entry that somebody else made for
 * the address is left as it is.
 */
export class OwnAddress {
  readonly #client: Exitward;
  readonly #terms: Terms;
  #own: AuthlistEntry | undefined;
  #others: AuthlistEntry | undefined;

  constructor(client: Exitward, terms: Terms) {
    this.#client = client;
    this.#terms = terms;
  }

  /**
   * Has the address listed now; resolves when the proxies have applied it, or so many seconds are over.
   * Errors: those of the service; a failure where another account lists it.
   */
  async look(wait_seconds = 0): Promise<void> {
    const { user } = this.#terms;
    const options = { ...briefly, waitSeconds: wait_seconds };
    let added: AuthlistEntry;
    try {
      added = await this.#client.authlist.add({ user, expiry: this.#expiry() }, options);
    } catch (error) {
      return this.#listedAlready(error);
    }
    await this.remove();
    this.#own = added;
    this.#others = undefined;
    this.#terms.onListed?.(added);
  }

  /** Looks again and again, until the signal or the end. Errors: those that do not pass by themselves. */
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
        notify(`exw: ${error.message} It is tried again.`);
      }
    }
  }

  /** Takes the address off the list again. */
  async remove(): Promise<void> {
    const entry = this.#own;
    this.#own = undefined;
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

  /** The user that connections of the address count as: that of an entry which was there before, too. */
  get user(): string {
    return (this.#own ?? this.#others)?.user ?? this.#terms.user;
  }

  get #lifetime(): number {
    return this.#terms.every_seconds * looks;
  }

  #expiry(): number {
    return Math.min(now() + this.#lifetime, this.#terms.end ?? Number.POSITIVE_INFINITY);
  }

  /**
   * Whether the service refuses the last expiry because the end has passed: its clock is ahead, or the request took long.
   * The service has accepted all other fields before.
   */
  #hasEnded(error: unknown): boolean {
    const isLast = this.#expiry() === this.#terms.end;
    return isLast && error instanceof BadRequestError && error.code === 'invalid_field';
  }

  /** Another's entry may end before the next look is due. */
  #untilNextLook(): number {
    const { every_seconds, end = Number.POSITIVE_INFINITY } = this.#terms;
    const othersEnd = this.#others?.expiry ?? Number.POSITIVE_INFINITY;
    return Math.max(0, Math.min(every_seconds, end - now(), othersEnd + 1 - now()));
  }

  /** The address is listed: by the entry that we made for it, or by another. Errors: any other. */
  async #listedAlready(error: unknown): Promise<void> {
    const ip = addressListedBy(error);
    // A service that does not name the address leaves us to believe that it is still the same.
    const isOurs = this.#own && (ip === undefined || isSameAddress(ip, this.#own.ip));
    if (isOurs && isConflict(error, 'address_taken')) return this.#renew();
    if (ip === undefined) throw error;
    await this.remove();
    const entry = await requireEntry(this.#client, ip);
    if (this.#others?.id === entry.id) return;
    this.#others = entry;
    const until = timeInWords(entry.expiry);
    notify(
      `${ip} is listed for ${entry.user} already, until ${until}; that entry is left as it is.`,
    );
  }

  async #renew(): Promise<void> {
    const own = this.#own;
    if (!own || own.expiry - now() > this.#lifetime / 2) return;
    try {
      const expiry = this.#expiry();
      this.#own = await this.#client.authlist.change(own.id, { expiry }, briefly);
    } catch (error) {
      if (!(error instanceof NotFoundError)) throw error;
      // It has just expired, or somebody removed it.
      this.#own = undefined;
      await this.look();
    }
  }
}

/** Whether a failure may be over at the next look. */
function passes(error: unknown): error is Error {
  if (error instanceof Failure || error instanceof ConnectionError) return true;
  if (!(error instanceof ExitwardError) || error.status === undefined) return false;
  return error.status === 429 || error.status >= 500;
}
