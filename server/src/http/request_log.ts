// The log line of a request: the same for each audience, and for a cached response.
import type { Logger } from 'pino';

/** Contains nothing of the request's headers or body. */
export interface RequestLine {
  request_id: string;
  trace_id?: string;
  method: string;
  /** As the router names it, without values from the path or the query. */
  route: string;
  status: number;
  /** From the request's arrival to the end of its response. */
  seconds: number;
  address: string;
  /** The principal, if it is known. */
  account?: string;
  token_name?: string;
  user?: string;
}

export function logRequest({ log }: { log: Logger }, { seconds, ...line }: RequestLine): void {
  log.info({ ...line, milliseconds: Math.round(seconds * 10_000) / 10 }, 'request');
}
