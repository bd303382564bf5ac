// The one error type of the control plane: a status, a code for programs, and a sentence for
// people.

/** Every code of an error response. Sentences may be improved at any time; codes never change. */
export const errorCodes = [
  'bad_request',
  'invalid_field',
  'body_too_large',
  'headers_too_large',
  'request_timeout',
  'unauthorized',
  'forbidden',
  'not_found',
  'method_not_allowed',
  'conflict',
  'precondition_failed',
  'too_many_requests',
  'internal_error',
  'unavailable',

  // Signing in, and the routes of an account for its people and for operators.
  'other_session',
  'session_ended',
  'wrong_password',
  'wrong_code',
  'code_used_up',
  'second_factor_required',
  'password_needed',
  'throttled',
  'origin_rejected',
  'flag_needed',
  'contract_suspended',
  'contract_expired',
  'address_taken',
  'hostname_taken',
  'list_full',
  'unknown_user',
  'server_not_on_contract',
  'removal_gone',
  'name_taken',
  'last_admin',
  // Accounts, servers, inventory, nodes.
  'port_taken',
  'unknown_port_scheme',
  'port_scheme_in_use',
  'port_scheme_missing',
  'unknown_server',
  'server_in_use',
  'not_viewable',
  'last_token',
  'inventory_invalid',
  'inventory_conflict',
  'invite_unknown',
  'node_token_unknown',
  'snapshot_needed',
  'row_invalid',
  'held_usage_full',
  'question_over',
  'no_live_node',
  // API tokens, and the state of the service.
  'token_missing',
  'token_unknown',
  'token_expired',
  'token_read_only',
  'other_variant',
  'rate_limited',
  'too_many_streams',
  'maintenance',
  'database_lost',
  'idempotency_mismatch',
] as const;
export type ErrorCode = (typeof errorCodes)[number];

/** One of several faults of a request. */
export interface Fault {
  field: string;
  message: string;
}

/**
 * The details of an error: its code, the field of the request that is wrong, and response headers.
 */
export interface ErrorDetails {
  code?: ErrorCode;
  /** The message begins with its name. */
  field?: string;
  /** All that is wrong, where there are several faults. */
  faults?: readonly Fault[];
  headers?: Record<string, string>;
}

/**
 * An error that is sent to the client with `status`. The message names the field first, if there is
 * one.
 */
export class ApiError extends Error {
  readonly status: number;
  readonly code: ErrorCode;
  readonly field: string | undefined;
  readonly faults: readonly Fault[] | undefined;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    status: number,
    code: ErrorCode,
    sentence: string,
    { field, faults, headers = {} }: Omit<ErrorDetails, 'code'> = {},
  ) {
    super(field === undefined ? sentence : `${field}: ${sentence}`);
    this.name = 'ApiError';
    this.status = status;
    this.code = code;
    this.field = field;
    this.faults = faults;
    this.headers = headers;
  }
}

/** The faults of an error: those that it lists, or itself. */
export function faultsOf({ field = '', message, faults }: ApiError): readonly Fault[] {
  return faults ?? [{ field, message }];
}

type Results<Checks extends ReadonlyArray<() => unknown>> = {
  -readonly [At in keyof Checks]: Awaited<ReturnType<Checks[At]>>;
};

/**
 * Runs every check, one after the other, and returns their results: one request learns all that is
 * wrong. Errors: that of the first check that fails, with the faults of all if there are several.
 */
export async function checkAll<const Checks extends ReadonlyArray<() => unknown>>(
  checks: Checks,
): Promise<Results<Checks>> {
  const results: unknown[] = [];
  const errors: ApiError[] = [];
  for (const check of checks) {
    try {
      results.push(await check());
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      errors.push(error);
    }
  }
  const [first] = errors;
  if (!first) return results as Results<Checks>;
  throw errorOf(first, errors.flatMap(faultsOf));
}

/** The error of the first of these faults, which lists them if there are several. */
export function errorOf({ status, code }: ApiError, faults: readonly Fault[]): ApiError {
  const { field, message } = faults[0] as Fault;
  const sentence = field === '' ? message : message.slice(`${field}: `.length);
  return new ApiError(status, code, sentence, {
    ...(field === '' ? {} : { field }),
    ...(faults.length > 1 ? { faults } : {}),
  });
}

type Details = Omit<ErrorDetails, 'headers'>;

const error = (status: number, sentence: string, code: ErrorCode, details: ErrorDetails) =>
  new ApiError(status, details.code ?? code, sentence, details);

/** 400: the request itself is wrong; the message says what was expected. */
export const badRequest = (sentence: string, details: Details = {}) =>
  error(400, sentence, 'bad_request', details);

/** 400: one field of the request is wrong; the sentence says what was expected. */
export const invalidField = (field: string, sentence: string) =>
  error(400, sentence, 'invalid_field', { field });

/** 401: the credentials were not recognised. */
export const unauthorized = (sentence: string, scheme = 'Basic', details: Details = {}) =>
  error(401, sentence, 'unauthorized', {
    ...details,
    headers: {
      'www-authenticate': scheme === 'Basic' ? 'Basic realm="Exitward", charset="UTF-8"' : scheme,
    },
  });

/** 403: the principal is known and may not do this. */
export const forbidden = (sentence: string, details: Details = {}) =>
  error(403, sentence, 'forbidden', details);

/** 404: no such path for this principal, or no such record on this account. */
export const notFound = (sentence: string, details: Details = {}) =>
  error(404, sentence, 'not_found', details);

/** 405: the path exists, the method does not; `allow` lists those that do. */
export const methodNotAllowed = (method: string, allow: string) =>
  error(405, `${method} is not allowed here; use one of: ${allow}.`, 'method_not_allowed', {
    headers: { allow },
  });

/** 409: valid, but in conflict with existing records. */
export const conflict = (sentence: string, details: Details = {}) =>
  error(409, sentence, 'conflict', details);

/** 412: an `If-Match` that does not name the current version. */
export const preconditionFailed = (sentence: string) =>
  error(412, sentence, 'precondition_failed', {});

/** 429: more requests than the operator's setting allows. */
export const tooManyRequests = (
  sentence: string,
  headers: Record<string, string>,
  details: Details = {},
) => error(429, sentence, 'too_many_requests', { ...details, headers });

/**
 * 503: maintenance, overload, or a database that does not answer. `retry_seconds` goes into
 * `Retry-After`.
 */
export const unavailable = (sentence: string, retry_seconds = 5, details: Details = {}) =>
  error(503, sentence, 'unavailable', {
    ...details,
    headers: { 'retry-after': String(retry_seconds) },
  });
