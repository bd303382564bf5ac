// The errors of a call: a class for each status, and one for no response at all.
import type { ErrorCode } from './openapi.ts';

/** The details of an error, in addition to its message. */
export interface ErrorDetails {
  status?: number | undefined;
  code?: ExitwardError['code'];
  requestId?: string | undefined;
  retryAfterSeconds?: number | undefined;
  mayHaveActed?: boolean;
  cause?: unknown;
}

/**
 * A call failed. The message is the server's own if it sent one. It is for people and may change at
 * any time; programs decide by `code`, or by the class.
 *
 * @example
 * ```ts
 * const expiry = Math.floor(Date.now() / 1000) + 3600;
 * try {
 *   await client.authlist.add({ ip: '203.0.113.7', user: 'nobody', expiry });
 * } catch (error) {
 *   if (!(error instanceof ConflictError)) throw error;
 *   console.log(error.message); // user: "nobody" is not part of the account; no entry for 203.0.113.7 was made.
 * }
 * ```
 */
export class ExitwardError extends Error {
  override readonly name: string = 'ExitwardError';
  /** The HTTP status; undefined when there was no response. */
  readonly status: number | undefined;
  /**
   * The code of the error (the header `exitward-error`); later servers may have more codes. From a
   * server without codes, that of the status, such as `conflict`. Undefined without a response.
   */
  readonly code: ErrorCode | (string & {}) | undefined;
  /** The `x-request-id` of the response: include it when you contact your provider. */
  readonly requestId: string | undefined;
  /** How long the server asks to wait (`Retry-After`). */
  readonly retryAfterSeconds: number | undefined;
  /**
   * Of a change: whether the server may have made it anyway, because an attempt ended without a
   * clear response. Read the record before you send the change again.
   */
  readonly mayHaveActed: boolean;

  constructor(message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? {} : { cause: details.cause });
    this.status = details.status;
    this.code = details.code;
    this.requestId = details.requestId;
    this.retryAfterSeconds = details.retryAfterSeconds;
    this.mayHaveActed = details.mayHaveActed ?? false;
  }
}

/** 400: the request itself is wrong; the message names the field. */
export class BadRequestError extends ExitwardError {
  override readonly name = 'BadRequestError';
}

/** 401: the API token is not recognised, or has expired. */
export class UnauthorizedError extends ExitwardError {
  override readonly name = 'UnauthorizedError';
}

/** 403: the API token is valid, but may not do this. */
export class ForbiddenError extends ExitwardError {
  override readonly name = 'ForbiddenError';
}

/** 404: there is no such record on this account, or no such path in this variant. */
export class NotFoundError extends ExitwardError {
  override readonly name = 'NotFoundError';
}

/** 405: the server does not know this method here. */
export class MethodNotAllowedError extends ExitwardError {
  override readonly name = 'MethodNotAllowedError';
}

/** 409: well formed, but it does not fit the records. */
export class ConflictError extends ExitwardError {
  override readonly name = 'ConflictError';
}

/** An option of the client, or of one call, that cannot be used. */
export class OptionError extends TypeError {
  override readonly name = 'OptionError';
  /** The name of the option. */
  readonly option: string;
  /** The fault, without the name. */
  readonly fault: string;

  constructor(option: string, fault: string) {
    super(`${option}: ${fault}`);
    this.option = option;
    this.fault = fault;
  }
}

/** 412: `ifMatch` does not match, because the record has changed since. */
export class PreconditionFailedError extends ExitwardError {
  override readonly name = 'PreconditionFailedError';
}

/** 429: too many requests; see `retryAfterSeconds`. */
export class TooManyRequestsError extends ExitwardError {
  override readonly name = 'TooManyRequestsError';
}

/** 500: a fault of the server. */
export class InternalServerError extends ExitwardError {
  override readonly name = 'InternalServerError';
}

/** 503: the service is down for maintenance, or overloaded; see `retryAfterSeconds`. */
export class UnavailableError extends ExitwardError {
  override readonly name = 'UnavailableError';
}

/** There was no response, or it broke off; `cause` says why. */
export class ConnectionError extends ExitwardError {
  override readonly name: string = 'ConnectionError';
}

/** There was no response within `timeoutSeconds`. */
export class TimeoutError extends ConnectionError {
  override readonly name = 'TimeoutError';
}
