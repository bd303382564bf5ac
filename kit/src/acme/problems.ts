// The reasons why no certificate is issued: a code for programs, and a sentence with the remedy.
import { networkFault } from '../network_fault.ts';

/** The codes that programs decide by (docs/tls.md). */
export const acmeCodes = [
  'unreachable',
  'clock',
  'rate_limited',
  'terms',
  'account',
  'dns',
  'connection',
  'unauthorized',
  'names',
  'listener',
  'disk',
  'authority',
] as const;

export type AcmeCode = (typeof acmeCodes)[number];

export class AcmeError extends Error {
  readonly code: AcmeCode;
  /** Epoch seconds: the certificate authority wants no request before. */
  readonly retry_at: number | undefined;

  constructor(
    code: AcmeCode,
    message: string,
    options: { retry_at?: number | undefined; cause?: unknown } = {},
  ) {
    super(message, { cause: options.cause });
    this.code = code;
    this.retry_at = options.retry_at;
  }
}

/** A problem document (RFC 7807), as the certificate authority sends it. */
export interface Problem {
  type?: string;
  detail?: string;
  instance?: string;
  subproblems?: Problem[];
}

export const problemPrefix = 'urn:ietf:params:acme:error:';

/** Where and for which name something failed. */
export interface Attempt {
  /** The certificate authority, by its host. */
  authority: string;
  challenge: 'tls-alpn-01' | 'http-01';
  name?: string;
  /** Epoch seconds, from the Retry-After of the response. */
  retry_at?: number | undefined;
}

/** The error for a problem document. */
export function errorOf(problem: Problem, attempt: Attempt): AcmeError {
  const { authority, name = 'this machine', challenge, retry_at } = attempt;
  const kind = (problem.type ?? '').replace(problemPrefix, '');
  const detail = quoted(problem);
  const port = challenge === 'http-01' ? 80 : 443;
  const make = (code: AcmeCode, message: string) => new AcmeError(code, message, { retry_at });
  switch (kind) {
    case 'rateLimited':
      return make(
        'rate_limited',
        `${authority} takes no more requests for now (rate limit)${detail}`,
      );
    case 'userActionRequired':
      return make(
        'terms',
        `${authority} has new terms of service, to be agreed to${problem.instance ? ` at ${problem.instance}` : ''}${detail}`,
      );
    case 'externalAccountRequired':
      return make(
        'account',
        `${authority} gives certificates only to accounts that are bound to one of its customers; take another directory or certificate files${detail}`,
      );
    case 'accountDoesNotExist':
      return make('account', `${authority} does not know the account any more${detail}`);
    case 'invalidContact':
    case 'unsupportedContact':
      return make(
        'account',
        `${authority} does not take the e-mail address of the contact${detail}`,
      );
    case 'dns':
      return make(
        'dns',
        `${authority} finds no address for ${name} in the DNS; an A or AAAA record of that name must lead to this machine${detail}`,
      );
    case 'connection':
    case 'tls':
      return make(
        'connection',
        `${authority} does not reach ${name} on TCP port ${port} for its check; the name must lead to this machine, and every firewall let that port in${detail}`,
      );
    case 'unauthorized':
      if (attempt.name !== undefined) break;
      return make(
        'account',
        `${authority} does not accept the account, which may be deactivated; move acme.json away for a new one${detail}`,
      );
    case 'caa':
      return make('names', `The CAA records of ${name} do not allow ${authority}${detail}`);
    case 'rejectedIdentifier':
    case 'unsupportedIdentifier':
      return make(
        'names',
        `${authority} gives no certificate for ${attempt.name ?? 'these names'}${detail}`,
      );
  }
  if (attempt.name === undefined) {
    return make('authority', `${authority} refuses${kind ? ` (${kind})` : ''}${detail}`);
  }
  return make(
    'unauthorized',
    `${authority} looked for ${name} on TCP port ${port} and did not find the answer of this machine; the name must lead to this machine alone${detail}`,
  );
}

/** The details of a problem and its subproblems, as the end of a sentence. */
function quoted({ detail, subproblems = [] }: Problem): string {
  const details = [detail, ...subproblems.map((problem) => problem.detail)]
    .filter((text) => typeof text === 'string' && text !== '')
    // One line, short enough for a log.
    .map((text) => String(text).replace(/\s+/g, ' ').trim().slice(0, 300));
  return details.length === 0 ? '.' : `: "${details.join('; ')}".`;
}

/** Node's codes for a certificate that has expired or is not valid yet. */
const untimely = ['CERT_HAS_EXPIRED', 'CERT_NOT_YET_VALID'];

/** The error of a request without a response; `now` is this machine's time, as text. */
export function unreachable(authority: string, error: Error, now: string): AcmeError {
  const { code = '' } = (error.cause ?? error) as NodeJS.ErrnoException;
  if (untimely.includes(code)) {
    return new AcmeError(
      'clock',
      `The certificate of ${authority} is not valid at ${now}, the time of this machine: set its clock.`,
      { cause: error },
    );
  }
  return new AcmeError('unreachable', `${authority} cannot be reached: ${networkFault(error)}.`, {
    cause: error,
  });
}
