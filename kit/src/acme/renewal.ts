// The certificate of this machine, by ACME: kept in a folder, renewed at two thirds of its life.

import { createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import type { Logger } from 'pino';
import { requirePair } from '../certificate.ts';
import { ownedByLog } from '../owner.ts';
import type { Answers } from './answers.ts';
import { type AcmeCode, AcmeError } from './problems.ts';
import { authorityOf, clockSeconds, type Issued, Protocol } from './protocol.ts';
import { type AcmeSettings, certificateFile } from './settings.ts';
import { type CertificateFacts, readFacts, selfSigned } from './x509.ts';

/** A folder that is its owner's alone; each file is replaced whole. */
export interface Folder {
  /** Undefined: there is no such file. Errors: one sentence. */
  read(name: string): string | undefined;
  write(name: string, text: string): void;
}

export interface RenewalOptions {
  settings: AcmeSettings;
  /** The names that the certificate is for; undefined: not known yet. */
  names: () => string[] | undefined;
  folder: Folder;
  answers: Answers;
  user_agent: string;
  /** Whether a self-signed certificate is used until the first one is issued. */
  placeholder: boolean;
  /** Epoch seconds. */
  now: () => number;
  log: Logger;
}

export interface RenewalStatus {
  certificate: CertificateFacts | undefined;
  last_error: string | null;
  last_error_code: AcmeCode | null;
  /** When the certificate authority is asked next, in epoch seconds. */
  next_try: number | null;
}

const stateFile = 'acme.json';

interface State {
  /** By directory; the keys as PEM. */
  accounts: Record<string, { key: string }>;
  /** The directory that issued the certificate. */
  issued_by?: string;
  /** The settings with which the tries failed. */
  tried?: string;
  failures: number;
  next_try: number;
  /** The certificate authority named the time of the next try. */
  is_asked?: boolean;
  last_error?: string;
  last_error_code?: AcmeCode;
}

const lookMs = 1000;
const firstPauseSeconds = 60;
/** Four tries in the first hour: Let's Encrypt allows five failed checks. */
const pauseGrowth = 4;
const longestPauseSeconds = 6 * 3600;
const longestAskedSeconds = 7 * 86_400;
/** An operator who fixed something restarts the program. */
const longestPauseAfterStartSeconds = 900;
const placeholderSeconds = 7 * 86_400;
const daySeconds = 86_400;
/** The part of a certificate's life over which the machines of a network spread their renewals. */
const jitter = 0.05;

export class Renewal {
  readonly #options: RenewalOptions;
  readonly #stopping = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #state: State;
  #certificate: CertificateFacts | undefined;
  /** Issued, and not on the disk yet. */
  #unwritten: Issued | undefined;
  #running: Promise<void> | undefined;
  /** The text of the state on the disk, as this process last read or wrote it. */
  #seen: string | undefined;

  /** Errors: one sentence when the folder cannot be read or written. */
  constructor(options: RenewalOptions) {
    this.#options = options;
    this.#state = this.#readState();
    this.#certificate = this.#readCertificate();
    this.#keepPlaceholder();
    const latest = options.now() + longestPauseAfterStartSeconds;
    if (!this.#state.is_asked) this.#state.next_try = Math.min(this.#state.next_try, latest);
  }

  start(): void {
    this.#timer = setInterval(
      ownedByLog(this.#options.log)(() => this.#look()),
      lookMs,
    );
    this.#timer.unref();
    this.#look();
  }

  status(): RenewalStatus {
    const { last_error = null, last_error_code = null } = this.#state;
    const next_try = this.#options.names() === undefined ? null : this.#dueAt();
    return { certificate: this.#certificate, last_error, last_error_code, next_try };
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#stopping.abort();
    await this.#running;
  }

  /** Starts a try when one is due. */
  #look(): void {
    const { names, now, log } = this.#options;
    const wanted = names();
    if (this.#running || wanted === undefined || now() < this.#dueAt()) return;
    this.#running = this.#try(wanted)
      .catch((error) => log.error({ err: error }, 'ACME failed in an unforeseen way'))
      .finally(() => {
        this.#running = undefined;
      });
  }

  /** Epoch seconds. */
  #dueAt(): number {
    const { now, settings } = this.#options;
    const wanted = this.#options.names() ?? [];
    const certificate = this.#certificate;
    const isGood =
      certificate !== undefined &&
      !certificate.is_self_signed &&
      this.#state.issued_by === settings.directory_url &&
      covers(certificate, wanted);
    const due = isGood ? renewalTime(certificate) : 0;
    if (this.#state.tried !== triedOf(settings, wanted)) return due;
    // A time that is too far ahead comes from a clock that was wrong.
    const isFar = this.#state.next_try > now() + longestAskedSeconds;
    return Math.max(due, isFar ? 0 : this.#state.next_try);
  }

  async #try(names: string[]): Promise<void> {
    const { settings, log, now } = this.#options;
    const tried = triedOf(settings, names);
    try {
      // Another process with this folder may have been first, or be trying now.
      if (this.#options.folder.read(stateFile) !== this.#seen) this.#state = this.#readState();
      this.#certificate = this.#readCertificate();
      this.#keepPlaceholder();
      if (now() < this.#dueAt()) return;
      const before = this.#state.tried === tried ? this.#state.failures : 0;
      const failures = before + 1;
      // Saved before the try, so that one that ends the process counts, too.
      const next_try = now() + pauseAfter(failures);
      this.#save({ ...this.#state, tried, failures, next_try, is_asked: false });
      const issued = this.#unwritten ?? (await this.#obtain(names));
      const facts = this.#checked(issued, names);
      this.#unwritten = issued;
      this.#write(certificateFile, `${issued.chain.trimEnd()}\n${issued.key}`);
      this.#unwritten = undefined;
      this.#certificate = facts;
      const issued_by = settings.directory_url;
      // A certificate that is nearly expired when issued must not be requested again and again.
      const rest = Math.min(longestPauseSeconds, (facts.not_after - now()) / 3);
      const done = { issued_by, tried, failures: 0, next_try: Math.floor(now() + rest) };
      this.#save({ accounts: this.#state.accounts, ...done });
      const ends = timeOf(facts.not_after);
      log.info({ names, ends, by: authorityOf(issued_by) }, 'the certificate was issued');
    } catch (error) {
      if (this.#stopping.signal.aborted) return;
      this.#fail(error as Error, tried);
    }
  }

  async #obtain(names: string[]): Promise<Issued> {
    const { settings, answers, user_agent, now } = this.#options;
    const { directory_url, challenge, contact } = settings;
    const account_key = this.#accountKey();
    const { signal } = this.#stopping;
    const options = { directory_url, account_key, challenge, user_agent, now, signal };
    const protocol = await Protocol.open(options);
    await protocol.register(contact);
    return protocol.obtain(names, (nameChallenge, action) => answers.during(nameChallenge, action));
  }

  /**
   * The facts of a new certificate, which must be valid now, for all names, and end no earlier than
   * the one in use. Errors: an AcmeError.
   */
  #checked({ chain, key }: Issued, names: string[]): CertificateFacts {
    const { settings, now } = this.#options;
    const authority = authorityOf(settings.directory_url);
    const refuse = (why: string) =>
      new AcmeError('authority', `${authority} issued a certificate that ${why}; it is not taken.`);
    try {
      requirePair({ cert: chain, key });
    } catch (error) {
      throw refuse(`cannot be used (${(error as Error).message})`);
    }
    const facts = readFacts(chain);
    const { not_before, not_after } = facts;
    if (now() + clockSeconds < not_before || now() >= not_after) {
      const lasts = `from ${timeOf(not_before)} to ${timeOf(not_after)}`;
      const message = `${authority} issued a certificate that is valid ${lasts}, and this machine has ${timeOf(now())}: set its clock.`;
      throw new AcmeError('clock', message);
    }
    if (!covers(facts, names)) throw refuse(`is for ${facts.names.join(', ') || 'no name'} only`);
    const old = this.#certificate;
    const isAlike = old && this.#state.issued_by === settings.directory_url && covers(old, names);
    if (isAlike && !old.is_self_signed && old.not_after > not_after) {
      throw refuse(`ends at ${timeOf(not_after)}, before the one in use`);
    }
    return facts;
  }

  #fail(error: Error, tried: string): void {
    const { now, log } = this.#options;
    const acmeError = error instanceof AcmeError ? error : undefined;
    const requestedAt = Math.min(acmeError?.retry_at ?? 0, now() + longestAskedSeconds);
    const paused = now() + pauseAfter(this.#state.failures);
    const next_try = Math.max(requestedAt, paused);
    const last_error_code = acmeError?.code ?? 'authority';
    const failed = { last_error: error.message, last_error_code, next_try, tried };
    this.#state = { ...this.#state, ...failed, is_asked: requestedAt > paused };
    const logFields = { code: last_error_code, ...(acmeError ? {} : { err: error }) };
    log.error(
      logFields,
      `No new certificate: ${error.message} The next try is at ${timeOf(next_try)}.`,
    );
    try {
      this.#save(this.#state);
    } catch (fault) {
      log.error((fault as Error).message);
    }
  }

  /** The account's key at this certificate authority; a new one is saved before it is used. */
  #accountKey(): KeyObject {
    const { directory_url } = this.#options.settings;
    const account = this.#state.accounts[directory_url];
    if (account) return createPrivateKey(account.key);
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const key = privateKey.export({ format: 'pem', type: 'pkcs8' }).toString();
    const accounts = { ...this.#state.accounts, [directory_url]: { key } };
    this.#save({ ...this.#state, accounts });
    return privateKey;
  }

  /** Until there is a first certificate, clients are shown one that they do not trust. */
  #keepPlaceholder(): void {
    const { placeholder, names, now } = this.#options;
    const wanted = names();
    if (!placeholder || wanted === undefined) return;
    const old = this.#certificate;
    if (old && !old.is_self_signed) return;
    if (old && covers(old, wanted) && old.not_after > now() + daySeconds) return;
    const keys = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const times = { not_before: now() - daySeconds, not_after: now() + placeholderSeconds };
    const cert = selfSigned({ names: wanted, keys, ...times });
    const key = keys.privateKey.export({ format: 'pem', type: 'pkcs8' });
    this.#write(certificateFile, `${cert}${key}`);
    this.#certificate = readFacts(cert);
  }

  #readCertificate(): CertificateFacts | undefined {
    const text = this.#options.folder.read(certificateFile);
    try {
      return text === undefined ? undefined : readFacts(text);
    } catch (error) {
      this.#options.log.error({ err: error }, `${certificateFile} is damaged; it is replaced`);
      return undefined;
    }
  }

  /** Errors: one sentence. */
  #readState(): State {
    const text = this.#options.folder.read(stateFile);
    this.#seen = text;
    const empty: State = { accounts: {}, failures: 0, next_try: 0 };
    if (text === undefined) return empty;
    try {
      return { ...empty, ...(JSON.parse(text) as State) };
    } catch {
      this.#options.log.error(`${stateFile} is damaged; there will be a new account`);
      return empty;
    }
  }

  #save(state: State): void {
    this.#state = state;
    const text = `${JSON.stringify(state, null, 2)}\n`;
    this.#write(stateFile, text);
    this.#seen = text;
  }

  #write(name: string, text: string): void {
    try {
      this.#options.folder.write(name, text);
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      throw new AcmeError('disk', `${name} cannot be written (${code ?? message}).`, {
        cause: error,
      });
    }
  }
}

const triedOf = (settings: AcmeSettings, names: readonly string[]) =>
  JSON.stringify([
    settings.directory_url,
    settings.challenge,
    settings.contact,
    settings.listen ?? null,
    names,
  ]);

const covers = (certificate: CertificateFacts, names: readonly string[]) =>
  names.every((name) => certificate.names.includes(name));

/** Seconds after so many failures in a row, with a random part so that machines spread out. */
function pauseAfter(failures: number): number {
  const pause = firstPauseSeconds * pauseGrowth ** Math.max(failures - 1, 0);
  return Math.ceil(Math.min(pause, longestPauseSeconds) * (1 + Math.random() / 4));
}

/**
 * Epoch seconds: after two thirds of the certificate's life, or up to a twentieth of it earlier.
 * The same certificate always has the same time.
 */
export function renewalTime({ not_before, not_after, fingerprint }: CertificateFacts): number {
  const life = not_after - not_before;
  const part = Number.parseInt(fingerprint.slice(0, 2), 16) / 256;
  return Math.round(not_before + life * (2 / 3 - jitter * part));
}

function timeOf(seconds: number): string {
  return new Date(seconds * 1000).toISOString().replace(/\.\d+Z$/, 'Z');
}
