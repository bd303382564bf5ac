// The one error type of the control plane: a status and a sentence that a person can act on.

/** A refusal that is answered to the caller as `{"message"}` with `status`. */
export class Refusal extends Error {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, message: string, headers: Record<string, string> = {}) {
    super(message);
    this.name = 'Refusal';
    this.status = status;
    this.headers = headers;
  }
}

/** 400: the request itself is wrong; the message names the field and what was expected. */
export const badRequest = (message: string) => new Refusal(400, message);

/** 401: the API token was not recognised. */
export const unauthorized = (message: string, scheme = 'Basic') =>
  new Refusal(401, message, {
    'www-authenticate': scheme === 'Basic' ? 'Basic realm="Exitward", charset="UTF-8"' : scheme,
  });

/** 403: the caller is known and may not do this. */
export const forbidden = (message: string) => new Refusal(403, message);

/** 404: no such path for this caller, or no such record on this account. */
export const notFound = (message: string) => new Refusal(404, message);

/** 405: the path exists, the method does not; `allow` lists those that do. */
export const methodNotAllowed = (method: string, allow: string) =>
  new Refusal(405, `${method} is not allowed here; use one of: ${allow}.`, { allow });

/** 409: well formed, but it does not fit the records. */
export const conflict = (message: string) => new Refusal(409, message);

/** 412: an `If-Match` that does not name the current version. */
export const preconditionFailed = (message: string) => new Refusal(412, message);

/** 429: more requests than the operator's setting allows. */
export const tooManyRequests = (message: string, headers: Record<string, string>) =>
  new Refusal(429, message, headers);

/** 503: maintenance, overload, or a database that does not answer. `retry_seconds` goes into `Retry-After`. */
export const unavailable = (message: string, retry_seconds = 5) =>
  new Refusal(503, message, { 'retry-after': String(retry_seconds) });
