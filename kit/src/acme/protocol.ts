// ACME (RFC 8555) with one certificate authority: signed requests, the account, and orders.
import {
  createHash,
  createPublicKey,
  generateKeyPairSync,
  type JsonWebKey,
  type KeyObject,
  sign,
} from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  AcmeError,
  type Attempt,
  errorOf,
  type Problem,
  problemPrefix,
  unreachable,
} from './problems.ts';
import { certificateRequest } from './x509.ts';

export type ChallengeType = 'tls-alpn-01' | 'http-01';

/** Proves to the certificate authority that a name is this machine's. */
export interface Challenge {
  type: ChallengeType;
  name: string;
  token: string;
  /** The token with the thumbprint of the account's key. */
  key_authorization: string;
}

export interface Issued {
  /** PEM: the certificate and its intermediates. */
  chain: string;
  /** PEM. */
  key: string;
}

interface Directory {
  newNonce: string;
  newAccount: string;
  newOrder: string;
  meta?: { termsOfService?: string; externalAccountRequired?: boolean };
}

interface Order {
  status: 'pending' | 'ready' | 'processing' | 'valid' | 'invalid';
  authorizations: string[];
  finalize: string;
  certificate?: string;
  error?: Problem;
}

interface Authorization {
  status: string;
  identifier: { value: string };
  challenges: Array<{ type: string; url: string; token: string; status: string; error?: Problem }>;
}

interface Reply {
  status: number;
  headers: Headers;
  text: string;
}

export interface ProtocolOptions {
  directory_url: string;
  /** P-256. */
  account_key: KeyObject;
  challenge: ChallengeType;
  /** Names this program to the certificate authority, as RFC 8555, 6.1 asks. */
  user_agent: string;
  /** Epoch seconds. */
  now: () => number;
  signal: AbortSignal;
}

const requestMs = 30_000;
const maxNonces = 8;
/** How long an authority may take to check, or to sign. */
const longestWaitSeconds = 180;
const longestPauseSeconds = 30;
/** The clock may not be off by more: the times of certificates would mean nothing. */
export const clockSeconds = 3600;

const base64url = (text: string | Buffer) => Buffer.from(text).toString('base64url');

export class Protocol {
  readonly #options: ProtocolOptions;
  readonly #directory: Directory;
  /** The public key as JWK, its members in the order of RFC 7638. */
  readonly #jwk: JsonWebKey;
  #account: string | undefined;
  #nonce: string | undefined;

  private constructor(options: ProtocolOptions, directory: Directory) {
    this.#options = options;
    this.#directory = directory;
    const { crv, kty, x, y } = createPublicKey(options.account_key).export({ format: 'jwk' });
    this.#jwk = { crv, kty, x, y };
  }

  /** Reads the directory. Errors: an AcmeError, also for clocks more than an hour apart. */
  static async open(options: ProtocolOptions): Promise<Protocol> {
    const { directory_url, now } = options;
    const reply = await request(options, directory_url, { redirect: 'follow' });
    const authority = authorityOf(directory_url);
    const theirs = Date.parse(reply.headers.get('date') ?? '') / 1000;
    const ahead = now() - theirs;
    if (Math.abs(ahead) > clockSeconds) {
      const how = `${Math.round(Math.abs(ahead) / 60)} minutes ${ahead > 0 ? 'ahead of' : 'behind'}`;
      throw new AcmeError(
        'clock',
        `The clock of this machine is ${how} that of ${authority}: set it.`,
      );
    }
    const directory = parse<Directory>(reply.text);
    if (reply.status !== 200 || !directory?.newNonce || !directory.newOrder) {
      const message = `${directory_url} answered ${reply.status}, not as the directory of a certificate authority does.`;
      throw new AcmeError('unreachable', message, { retry_at: retryAt(reply, now()) });
    }
    return new Protocol(options, directory);
  }

  /**
   * Creates the account, or finds it when the key has one. `contact`: an e-mail address.
   * Errors: an AcmeError.
   */
  async register(contact: string | undefined): Promise<void> {
    const { headers } = await this.#post(this.#directory.newAccount, {
      termsOfServiceAgreed: true,
      ...(contact ? { contact: [`mailto:${contact}`] } : {}),
    });
    const url = headers.get('location');
    if (!url) throw this.#strange('it names no account');
    this.#account = url;
  }

  /**
   * A certificate for these names with a new key. `answering` runs an action while a challenge is
   * answered.
   * Errors: an AcmeError.
   */
  async obtain(
    names: readonly string[],
    answering: (challenge: Challenge, action: () => Promise<void>) => Promise<void>,
  ): Promise<Issued> {
    const identifiers = names.map((value) => ({ type: 'dns', value }));
    const made = await this.#post(this.#directory.newOrder, { identifiers });
    const url = made.headers.get('location');
    const order = parse<Order>(made.text);
    if (!url || !order?.authorizations) throw this.#strange('it names no order');
    for (const authorization of order.authorizations) await this.#prove(authorization, answering);
    const keys = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const csr = base64url(certificateRequest(names, keys));
    const ready = await this.#follow<Order>(url, ({ status }) => status !== 'pending');
    if (ready.status !== 'ready') throw this.#failed(ready);
    await this.#post(order.finalize, { csr });
    const done = await this.#follow<Order>(
      url,
      ({ status }) => status !== 'processing' && status !== 'ready',
    );
    if (done.status !== 'valid' || !done.certificate) throw this.#failed(done);
    const { text: chain } = await this.#post(done.certificate, undefined);
    return { chain, key: keys.privateKey.export({ format: 'pem', type: 'pkcs8' }).toString() };
  }

  /** Has one name checked. */
  async #prove(
    url: string,
    answering: (challenge: Challenge, action: () => Promise<void>) => Promise<void>,
  ): Promise<void> {
    const { text } = await this.#post(url, undefined);
    const authorization = parse<Authorization>(text);
    if (authorization?.status === 'valid') return;
    const { challenge: type } = this.#options;
    const name = authorization?.identifier?.value ?? '';
    const challenge = authorization?.challenges?.find((offered) => offered.type === type);
    if (!challenge) throw this.#strange(`it does not offer ${type} for ${name}`);
    const thumbprint = createHash('sha256').update(JSON.stringify(this.#jwk)).digest('base64url');
    const { token } = challenge;
    const key_authorization = `${token}.${thumbprint}`;
    await answering({ type, name, token, key_authorization }, async () => {
      await this.#post(challenge.url, {}, name);
      const checked = await this.#follow<Authorization>(
        url,
        ({ status }) => status !== 'pending',
        name,
      );
      if (checked.status === 'valid') return;
      const problem = checked.challenges.find(({ error }) => error)?.error;
      throw errorOf(problem ?? {}, this.#attempt({ name }));
    });
  }

  /** Reads a resource until `isThere`, at the pace that the authority asks for. */
  async #follow<T>(url: string, isThere: (resource: T) => boolean, name?: string): Promise<T> {
    const { signal, now } = this.#options;
    for (let waited = 0; ; ) {
      const reply = await this.#post(url, undefined, name);
      const resource = parse<T>(reply.text);
      if (resource && isThere(resource)) return resource;
      const requestedSeconds = (retryAt(reply, now()) ?? now() + 1) - now();
      const pause = Math.min(Math.max(requestedSeconds, 1), longestPauseSeconds);
      waited += pause;
      if (waited > longestWaitSeconds) {
        throw this.#strange(`it has not decided within ${longestWaitSeconds} seconds`);
      }
      await sleep(pause * 1000, undefined, { signal });
    }
  }

  /**
   * A signed request (RFC 8555, 6.2); without a payload it reads (POST-as-GET).
   * `name`: the name that it is about.
   */
  async #post(url: string, payload: object | undefined, name?: string): Promise<Reply> {
    for (let tries = 1; ; tries++) {
      const nonce = this.#nonce ?? (await this.#newNonce());
      this.#nonce = undefined;
      const who =
        this.#account && url !== this.#directory.newAccount
          ? { kid: this.#account }
          : { jwk: this.#jwk };
      const head = base64url(JSON.stringify({ alg: 'ES256', ...who, nonce, url }));
      const body = payload === undefined ? '' : base64url(JSON.stringify(payload));
      const key = { key: this.#options.account_key, dsaEncoding: 'ieee-p1363' } as const;
      const signature = base64url(sign('sha256', Buffer.from(`${head}.${body}`), key));
      const reply = await request(this.#options, url, {
        method: 'POST',
        headers: { 'content-type': 'application/jose+json' },
        body: JSON.stringify({ protected: head, payload: body, signature }),
      });
      this.#nonce = reply.headers.get('replay-nonce') ?? undefined;
      if (reply.status < 400) return reply;
      const problem = parse<Problem>(reply.text) ?? {};
      if (problem.type === `${problemPrefix}badNonce` && tries < maxNonces) continue;
      throw this.#refused(reply, problem, name);
    }
  }

  #refused(reply: Reply, problem: Problem, name: string | undefined): AcmeError {
    const retry_at = retryAt(reply, this.#options.now());
    // A challenge that cannot be requested is not a failed check.
    const isAccount = problem.type === `${problemPrefix}unauthorized`;
    const attempt = this.#attempt({ retry_at, ...(name && !isAccount ? { name } : {}) });
    const type =
      problem.type ??
      (reply.status === 429 ? `${problemPrefix}rateLimited` : `HTTP ${reply.status}`);
    return errorOf({ ...problem, type }, attempt);
  }

  async #newNonce(): Promise<string> {
    const reply = await request(this.#options, this.#directory.newNonce, { method: 'HEAD' });
    const nonce = reply.headers.get('replay-nonce');
    if (nonce) return nonce;
    throw this.#refused(reply, { type: `HTTP ${reply.status}` }, undefined);
  }

  #failed({ error, status }: Order): AcmeError {
    return error ? errorOf(error, this.#attempt({})) : this.#strange(`the order is ${status}`);
  }

  #strange(why: string): AcmeError {
    return new AcmeError(
      'authority',
      `${authorityOf(this.#options.directory_url)} gives no certificate: ${why}.`,
    );
  }

  #attempt(more: Partial<Attempt>): Attempt {
    const { directory_url, challenge } = this.#options;
    return { authority: authorityOf(directory_url), challenge, ...more };
  }
}

/** The name of a certificate authority in sentences: its host. */
export function authorityOf(directory_url: string): string {
  return new URL(directory_url).host;
}

/** One request; the reply may have any status. Errors: an AcmeError when there is no response. */
async function request(options: ProtocolOptions, url: string, init: RequestInit): Promise<Reply> {
  const { user_agent, signal, now, directory_url } = options;
  try {
    const response = await fetch(url, {
      redirect: 'error',
      ...init,
      headers: { 'user-agent': user_agent, ...init.headers },
      signal: AbortSignal.any([signal, AbortSignal.timeout(requestMs)]),
    });
    return { status: response.status, headers: response.headers, text: await response.text() };
  } catch (error) {
    signal.throwIfAborted();
    const time = new Date(now() * 1000).toISOString().replace('.000Z', 'Z');
    throw unreachable(authorityOf(directory_url), error as Error, time);
  }
}

function parse<T>(text: string): T | undefined {
  try {
    return JSON.parse(text) as T;
  } catch {
    return undefined;
  }
}

/** The Retry-After of a response, a number of seconds or a time, as epoch seconds. */
function retryAt({ headers }: Reply, now: number): number | undefined {
  const text = headers.get('retry-after') ?? '';
  if (/^\d{1,9}$/.test(text)) return now + Number(text);
  const at = Date.parse(text) / 1000;
  return Number.isNaN(at) ? undefined : Math.ceil(at);
}
