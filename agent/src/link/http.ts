// Sends requests of the node interface, reads responses within limits of time and size, and
// classifies errors.
import type { Agent, IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { Agent as HttpAgent, request as httpRequest } from '../../../kit/src/node_http.ts';
import { ControlError, connectionFault } from '../control_error.ts';
import { version } from '../version.ts';

const maxResponseBytes = 1024 * 1024;
/** The longest accepted wait. A longer one would be a mistake of something in between. */
const maxRetrySeconds = 30;

interface Sending {
  url: string;
  method: string;
  headers: Record<string, string>;
  body: string | undefined;
  signal: AbortSignal | undefined;
  response_seconds: number;
  agent: Agent;
}

export function newAgent(url: string): Agent {
  const AgentOf = isHttps(url) ? HttpsAgent : HttpAgent;
  return new AgentOf({ keepAlive: true });
}

function isHttps(url: string): boolean {
  return URL.parse(url)?.protocol === 'https:';
}

/** Sends a request; resolves with the head of a successful response. Errors: ControlError. */
export async function send(sending: Sending): Promise<IncomingMessage> {
  const { url, method, headers, body, signal, response_seconds, agent } = sending;
  try {
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      const request = (isHttps(url) ? httpsRequest : httpRequest)(url, {
        method,
        agent,
        ...(signal ? { signal } : {}),
        headers: {
          ...headers,
          // The control plane shows operators which nodes have an older version.
          'user-agent': `exitward-agent/${version}`,
          ...(body !== undefined && {
            'content-type': 'application/json',
            'content-length': Buffer.byteLength(body),
          }),
        },
      });
      // The socket's own timeout would not include the time to resolve the name.
      const late = new ControlError(`no answer within ${response_seconds} seconds`);
      const timer = setTimeout(() => request.destroy(late), response_seconds * 1000);
      request.once('close', () => clearTimeout(timer));
      request.on('error', reject);
      const settle = (message: IncomingMessage) => {
        clearTimeout(timer);
        resolve(message);
      };
      request.once('response', settle);
      request.end(body);
    });
    const { statusCode: status = 0 } = response;
    if (status >= 200 && status < 300) return response;
    throw await errorOf(response, status, response_seconds);
  } catch (error) {
    throw asControlError(error);
  }
}

async function errorOf(
  response: IncomingMessage,
  status: number,
  response_seconds: number,
): Promise<ControlError> {
  const body = await readJson(response, response_seconds).catch(() => undefined);
  const { message, code, field } = (body ?? {}) as Record<string, unknown>;
  const isOurs =
    typeof message === 'string' &&
    (status !== 401 || code === 'node_token_unknown' || isOfTokens(response));
  const wait = Number(response.headers['retry-after']);
  const date = Date.parse(response.headers.date ?? '');
  const reason = isOurs ? message : `the answer was ${status}, and not one of a control plane`;
  return new ControlError(reason, {
    status,
    code: isOurs && typeof code === 'string' ? code : undefined,
    field: isOurs && typeof field === 'string' ? field : undefined,
    isOurs,
    retry_after_seconds: wait > 0 ? Math.min(wait, maxRetrySeconds) : undefined,
    answered_at: Number.isNaN(date) ? undefined : date / 1000,
  });
}

/** Gateways also send errors as JSON, and a 401 of theirs must not revoke this node. */
function isOfTokens({ headers }: IncomingMessage): boolean {
  return headers['www-authenticate'] === 'Bearer' && headers['x-request-id'] !== undefined;
}

/** Aborts a response if it is not renewed for this long. */
export class IdleTimeout {
  readonly #timer: NodeJS.Timeout;

  constructor(response: IncomingMessage, seconds: number, says: string) {
    const fault = new ControlError(`${says} ${seconds} seconds`);
    this.#timer = setTimeout(() => response.destroy(fault), seconds * 1000);
  }

  renew(): void {
    this.#timer.refresh();
  }

  end(): void {
    clearTimeout(this.#timer);
  }
}

/** The body as it arrives. Errors: ControlError if it breaks off or times out. */
export async function* piecesOf(
  response: IncomingMessage,
  timeout: IdleTimeout,
): AsyncGenerator<Buffer> {
  try {
    for await (const piece of response) yield piece as Buffer;
  } catch (error) {
    throw asControlError(error);
  } finally {
    timeout.end();
  }
}

/** The body as JSON; undefined if it is empty. Errors: ControlError. */
export async function readJson(
  response: IncomingMessage,
  response_seconds: number,
): Promise<unknown> {
  const timeout = new IdleTimeout(response, 3 * response_seconds, 'the answer did not end within');
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of piecesOf(response, timeout)) {
    bytes += piece.length;
    if (bytes > maxResponseBytes) throw notOurs();
    pieces.push(piece);
  }
  if (bytes === 0) return undefined;
  try {
    return JSON.parse(Buffer.concat(pieces).toString());
  } catch {
    throw notOurs();
  }
}

export function notOurs(): ControlError {
  return new ControlError('the answer is not one of a control plane');
}

function asControlError(error: unknown): ControlError {
  if (error instanceof ControlError) return error;
  return new ControlError(connectionFault(error as NodeJS.ErrnoException));
}
