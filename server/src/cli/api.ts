// Calls the /admin API of a running server; an error becomes one sentence.

import { Failure, RequestFailure } from '../../../kit/src/cli/failures.ts';
import { commandFetch, isProxyFault, proxyOf } from '../../../kit/src/cli/https_proxy.ts';
import { networkFault } from '../../../kit/src/network_fault.ts';
import { OpenToOthers, readPrivate } from '../../../kit/src/private_files.ts';
import type { Environment } from '../../../kit/src/settings.ts';
import { hostOf, isLoopback, type OperatorAccess, readOperatorAccess } from '../config.ts';
import { installation } from '../install/installation.ts';
import type { Row } from './columns.ts';
import { LostData, sentenceOfLostData } from './lost_data.ts';

/** No server answers at the expected address. */
export class NoServer extends Failure {}

const responseMs = 120_000;

export class AdminApi {
  readonly #access: OperatorAccess;
  readonly #patienceMs: number;
  #destination: Destination | undefined;

  /** `patienceMs`: how long a response may take. */
  constructor(env: Environment, patienceMs = responseMs) {
    this.#patienceMs = patienceMs;
    this.#access = readOperatorAccess(env);
  }

  get<T = Row>(path: string): Promise<T> {
    return this.#send('GET', path) as Promise<T>;
  }
  /** Fetches a document as text. */
  async getText(path: string): Promise<string> {
    return (await this.#request('GET', path)).text();
  }
  post<T = Row>(path: string, body?: unknown): Promise<T> {
    return this.#send('POST', path, body) as Promise<T>;
  }
  put<T = Row>(path: string, body: unknown): Promise<T> {
    return this.#send('PUT', path, body) as Promise<T>;
  }
  patch<T = Row>(path: string, body: unknown): Promise<T> {
    return this.#send('PATCH', path, body) as Promise<T>;
  }
  async delete(path: string): Promise<void> {
    await this.#send('DELETE', path);
  }
  /** Sends a document unchanged. */
  postText<T = Row>(path: string, text: string, type: string): Promise<T> {
    return this.#send('POST', path, text, type) as Promise<T>;
  }

  /** A list with all its pages, or at most `limit` entries of it. */
  async list<T = Row>(path: string, limit = Number.POSITIVE_INFINITY): Promise<T[]> {
    const all: T[] = [];
    for await (const page of this.pages<T>(path)) {
      for (const entry of page) all.push(entry);
      if (all.length >= limit) break;
    }
    return all.slice(0, limit);
  }
  /** A list, page by page. */
  async *pages<T = Row>(path: string): AsyncGenerator<T[], void, void> {
    let next: string | undefined = path;
    while (next !== undefined) {
      const response: Response = await this.#request('GET', next);
      yield (await readBody(response)) as T[];
      const link = /<\/admin([^>]*)>; rel="next"/.exec(response.headers.get('link') ?? '');
      next = link?.[1];
    }
  }

  async #send(method: string, path: string, body?: unknown, type?: string): Promise<unknown> {
    return readBody(await this.#request(method, path, body, type));
  }

  /** Errors: as `tokenOf`; LostData when the server at this URL works without its data folder. */
  async #token(base: string): Promise<string> {
    try {
      return tokenOf(this.#access);
    } catch (error) {
      const advice = error instanceof NoToken ? await sentenceOfLostData(base) : undefined;
      if (advice === undefined) throw error;
      const { admin_token_file } = this.#access;
      throw new LostData(`The server at ${base} runs, but ${admin_token_file} is gone. ${advice}`);
    }
  }

  async #request(method: string, path: string, body?: unknown, type?: string): Promise<Response> {
    this.#destination ??= destinationOf(this.#access);
    const { url: base, source } = this.#destination;
    const token = await this.#token(base);
    const response = await commandFetch(`${base}/admin${path}`, {
      method,
      // The token is for this address alone.
      redirect: 'manual',
      signal: AbortSignal.timeout(this.#patienceMs),
      headers: {
        authorization: `Bearer ${token}`,
        ...(body === undefined ? {} : { 'content-type': type ?? 'application/json' }),
      },
      ...(body === undefined
        ? {}
        : { body: type ? (body as Buffer<ArrayBuffer>) : JSON.stringify(body) }),
    }).catch((error: Error) => {
      throw new NoServer(noResponse(this.#destination as Destination, error));
    });
    if (response.ok) return response;
    const redirection = response.headers.get('location');
    if (redirection !== null) {
      throw new Failure(
        `${base} (by ${source}) redirects to ${redirection}; set EXITWARD_ADMIN_URL to where the server itself listens.`,
      );
    }
    const text = await response.text();
    const fault = faultIn(text);
    if (fault && response.status === 401) {
      throw new Failure(`${fault.message} The token went to ${base} (by ${source}).`);
    }
    if (fault) throw new RequestFailure(response.status, fault);
    throw new Failure(`${base} answered ${response.status}, not as an Exitward server does.`);
  }
}

/** The file of the operator token is not there. */
class NoToken extends Failure {}

async function readBody(response: Response): Promise<unknown> {
  const text = await response.text();
  if (text === '') return undefined;
  try {
    return JSON.parse(text);
  } catch {
    throw new Failure(`${new URL(response.url).origin} did not answer as an Exitward server does.`);
  }
}

/** The sentence of an error, and the field or fields that it is about. */
function faultIn(text: string): Pick<RequestFailure, 'message' | 'field' | 'faults'> | undefined {
  try {
    const { message, field, faults } = JSON.parse(text) as Record<string, unknown>;
    if (typeof message !== 'string') return undefined;
    return {
      message,
      field: typeof field === 'string' ? field : undefined,
      faults: Array.isArray(faults) ? faults : undefined,
    };
  } catch {
    return undefined;
  }
}

function noResponse({ url, source }: Destination, error: Error): string {
  const { code = '' } = (error.cause ?? {}) as { code?: string };
  const place = `${url} (by ${source})`;
  if (isProxyFault(error.cause)) return `${place} can't be reached: ${networkFault(error)}.`;
  const proxy = proxyOf(url);
  if (
    !proxy &&
    /^(?:EPROTO|ERR_SSL_WRONG_VERSION_NUMBER|ERR_SSL_PACKET_LENGTH_TOO_LONG)$/.test(code)
  ) {
    return `The server at ${place} speaks plain http there, as operators' listeners on loopback do: remove EXITWARD_ADMIN_URL, or begin it with http.`;
  }
  const through = proxy ? `, asked through ${proxy}` : '';
  const remedy = isLoopback(hostOf(url))
    ? `Start one with "${installation.start}", or set EXITWARD_ADMIN_URL.`
    : 'Check that it runs, and that EXITWARD_ADMIN_URL is right.';
  return `No Exitward server answers at ${place}${through}: ${networkFault(error)}. ${remedy}`;
}

/** Where the command line sends the operator token, and what says so. */
interface Destination {
  url: string;
  source: string;
  /** False: another network's server may listen there. */
  isOwn: boolean;
}

/**
 * The URL of the server: of the setting, else of the file that a server writes into its data
 * folder, else where a server with these settings would listen. Errors: a failure when it is not a
 * URL, or the token may not be sent there; OpenToOthers when others can write the file.
 */
export function destinationOf(access: OperatorAccess): Destination {
  const { admin_url, source, isOwn } = adminUrlOf(access);
  const url = URL.parse(admin_url);
  if (!url || !/^https?:$/.test(url.protocol) || url.username || url.password) {
    throw new Failure(
      `${source}: expected a URL such as http://127.0.0.1:8081, without a name or password.`,
    );
  }
  if (url.protocol === 'http:' && !isLoopback(hostOf(url.href)) && !access.admin_insecure) {
    throw new Failure(
      `${source}: ${url.origin} would send the operator token unencrypted; expected https, or EXITWARD_ADMIN_INSECURE=yes in a network where no one else listens.`,
    );
  }
  return { url: url.href.replace(/\/+$/, '').replace(/\/admin$/, ''), source, isOwn };
}

function adminUrlOf({ admin_url, admin_url_file, mounted_secrets, ...access }: OperatorAccess) {
  if (admin_url !== undefined) {
    return { admin_url, source: 'EXITWARD_ADMIN_URL', isOwn: true };
  }
  try {
    const mounted = mounted_secrets;
    const text = readPrivate(admin_url_file, { anyOwner: true, mounted });
    return { admin_url: text.trim(), source: admin_url_file, isOwn: true };
  } catch (error) {
    if (error instanceof OpenToOthers) throw error;
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') {
      const source = 'EXITWARD_ADMIN_LISTEN or its default';
      return { admin_url: access.usual_admin_url, source, isOwn: false };
    }
    throw new Failure(
      `The URL of the server is in ${admin_url_file}, which this user may not read (${code}): run it as root, or set EXITWARD_ADMIN_URL.`,
    );
  }
}

/** The operator token. Errors: a failure that says where the token is expected. */
function tokenOf(access: OperatorAccess): string {
  const { admin_token, admin_token_file } = access;
  const token = admin_token ?? readToken(access);
  if (/^ewo_[\dA-Za-z]+$/.test(token)) return token;
  // It may be another secret, so it is neither sent nor shown.
  const source = admin_token === undefined ? admin_token_file : 'EXITWARD_ADMIN_TOKEN';
  throw new Failure(`${source}: expected an operator token (ewo_…).`);
}

function readToken({ admin_token_file, mounted_secrets }: OperatorAccess): string {
  try {
    // Root works with the server of another user, and reads nothing of that user except its token.
    return readPrivate(admin_token_file, { anyOwner: true, mounted: mounted_secrets }).trim();
  } catch (error) {
    if (error instanceof OpenToOthers) throw error;
    const { code } = error as NodeJS.ErrnoException;
    const remedy =
      code === 'EACCES'
        ? 'Run it as root, or set EXITWARD_ADMIN_TOKEN or EXITWARD_ADMIN_TOKEN_FILE.'
        : 'If the server is new, start it: the first start makes the token. Otherwise set EXITWARD_ADMIN_TOKEN or EXITWARD_ADMIN_TOKEN_FILE; on the server\'s machine, "exitward operator-token create NAME --local" makes one.';
    const sentence = `There is no operator token: ${admin_token_file} cannot be read (${code}). ${remedy}`;
    throw code === 'ENOENT' ? new NoToken(sentence) : new Failure(sentence);
  }
}
