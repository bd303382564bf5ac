// The components that operations of the OpenAPI document share: headers, errors, ways to
// authenticate.
import { sample } from './samples.ts';
import {
  type Answer,
  type Document,
  type NamedSchemas,
  type Parameter,
  referencesTo,
  type Schema,
} from './shapes.ts';

const text: Schema = { type: 'string' };
const number: Schema = { type: 'integer' };
const header = (description: string, schema: Schema, example?: unknown) => ({
  description,
  schema,
  ...(example === undefined ? {} : { example }),
});

const headers: Document['components']['headers'] = {
  Allow: header('The methods that this path knows.', text, 'GET, HEAD'),
  ETag: header(
    'The version of this response, for If-None-Match and If-Match.',
    text,
    '"V3Ck0CQ7OqyHzUGi5AKDKzl1Iu0"',
  ),
  'Exitward-Error': header(
    'The code of the error, for programs: one of `ErrorCode`.',
    { $ref: '#/components/schemas/ErrorCode' },
    'not_found',
  ),
  'Exitward-Found': header('Of a first page: how many entries fit what is asked for.', number, 63),
  'Exitward-Total': header('Of a first page: how many entries the list has.', number, 100_000),
  Link: header(
    'Where the next page is, when there is more.',
    text,
    '</admin/accounts?limit=100&after=acme>; rel="next"',
  ),
  Location: header(
    'Relative path of the new record. Under `/v0` it goes behind `{base_url}/v0`.',
    text,
    '/contract/ip-authlist/1',
  ),
  'Exitward-Applied': header(
    'With `Preference-Applied`: how many of the live nodes have applied the change.',
    text,
    '52/53',
  ),
  'Preference-Applied': header('The `Prefer: wait=N` that was honoured.', text, 'wait=10'),
  RateLimit: header(
    'Requests left, and seconds until the limit begins again.',
    text,
    '"token";r=0;t=42',
  ),
  'RateLimit-Policy': header('Requests allowed in so many seconds.', text, '"token";q=600;w=60'),
  'RateLimit-Limit': header('Requests allowed in a minute.', number),
  'RateLimit-Remaining': header('Requests left in it.', number),
  'RateLimit-Reset': header('Seconds until it ends.', number),
  'Retry-After': header('Seconds to wait.', number, 60),
  'WWW-Authenticate': header(
    'How to authenticate.',
    text,
    'Basic realm="Exitward", charset="UTF-8"',
  ),
  'X-Request-Id': header(
    'Names this request in the log and in the audit log.',
    text,
    'k3v9x2ab-1f',
  ),
};

const parameters: Record<string, Parameter> = {
  IdempotencyKey: {
    name: 'Idempotency-Key',
    in: 'header',
    description:
      'Any 1 to 255 visible ASCII characters, new for each change. Sent again with the same request within 24 hours, the first response is repeated and nothing is done; with another request it is 409.',
    schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[!-~]+$' },
  },
  IfMatch: {
    name: 'If-Match',
    in: 'header',
    description: 'ETags of which one must be the current one, or `*`; else 412.',
    schema: text,
  },
  IfNoneMatch: {
    name: 'If-None-Match',
    in: 'header',
    description: 'ETags that are known already: 304 when the response is one of them.',
    schema: text,
  },
  LastEventId: {
    name: 'Last-Event-ID',
    in: 'header',
    description: '`EPOCH:REVISION` after which to go on: of the snapshot or the last event.',
    schema: text,
  },
  Prefer: {
    name: 'Prefer',
    in: 'header',
    description:
      '`wait=N`: answer when every live node that serves it has applied the change, after N seconds (at most 30) at the latest.',
    schema: text,
    example: 'wait=10',
  },
};

/** The errors that every operation may answer, by status. */
export const errors: Record<number, { name: string; description: string; headers?: string[] }> = {
  400: {
    name: 'BadRequest',
    description:
      'The request was not understood; the message names the field and what was expected.',
  },
  401: {
    name: 'Unauthorized',
    description: 'The token was not recognised; the message says where to obtain one.',
    headers: ['WWW-Authenticate'],
  },
  403: {
    name: 'Forbidden',
    description:
      'The principal is known and may not do this: a read-only API token, a user without the flag, a suspended or expired contract, a web page of another site.',
  },
  404: {
    name: 'NotFound',
    description:
      'There is nothing at this path for this principal, or no such record on this account.',
  },
  405: {
    name: 'MethodNotAllowed',
    description: 'The path exists and knows other methods; `Allow` lists them.',
    headers: ['Allow'],
  },
  409: {
    name: 'Conflict',
    description:
      'Well formed, and it does not fit the records; or an Idempotency-Key that stood for another request.',
  },
  412: { name: 'PreconditionFailed', description: '`If-Match` does not name the current version.' },
  429: {
    name: 'TooManyRequests',
    description:
      'More than may be done within a time, such as changes of the account on a day, or requests with this API token in a minute where the operator sets a limit; nothing was done. Go on after `Retry-After` seconds.',
    headers: [
      'RateLimit',
      'RateLimit-Policy',
      'RateLimit-Limit',
      'RateLimit-Remaining',
      'RateLimit-Reset',
      'Retry-After',
    ],
  },
  500: {
    name: 'InternalError',
    description: 'Something went wrong on our side; it has been logged under the `x-request-id`.',
  },
  503: {
    name: 'Unavailable',
    description:
      'Down for maintenance, overloaded, or the database does not answer; try again after `Retry-After` seconds.',
    headers: ['Retry-After'],
  },
};

/** Everything below `components`. `bodies`: of an error under `/v0`, and everywhere else. */
export function components(
  bodies: { v0: Schema; others: Schema },
  schemas: Record<string, Schema>,
  named: NamedSchemas,
): Document['components'] {
  const response = (description: string, ...headerNames: string[]): Answer => ({
    description,
    headers: referencesTo('headers', [...headerNames, 'X-Request-Id']),
  });
  const error = (schema: Schema, description: string, ...headerNames: string[]): Answer => {
    const content = { 'application/json': { schema, example: sample(named, schema) } };
    return { ...response(description, ...headerNames), content };
  };
  const responses: Record<string, Answer> = {};
  for (const { name, description, headers = [] } of Object.values(errors)) {
    responses[`V0${name}`] = error(bodies.v0, description, 'Exitward-Error', ...headers);
    if (name !== 'Unauthorized') responses[name] = error(bodies.others, description, ...headers);
  }
  return {
    securitySchemes: {
      api_token: {
        type: 'http',
        scheme: 'basic',
        description:
          'An API token (`ewa_…`) of the account. Current variant: as the password, with an empty username. Earlier variant: as the username, with an empty password. Both or neither filled is 401.',
      },
      console_session: {
        type: 'apiKey',
        in: 'cookie',
        name: '__Host-exitward',
        description:
          'The session that signing in has set; without TLS, on loopback, the cookie is `exitward`. It is read under `/console` alone.',
      },
      node_token: {
        type: 'http',
        scheme: 'bearer',
        description: 'The token that a node got when it joined.',
      },
      operator_token: {
        type: 'http',
        scheme: 'bearer',
        description: 'An operator token (`ewo_…`).',
      },
    },
    schemas,
    parameters,
    headers,
    responses: {
      ...responses,
      NotModified: response('Nothing has changed; the body is empty.', 'ETag'),
      UnauthorizedCookie: error(
        bodies.others,
        'No session: no person is signed in, or the session has ended.',
        'WWW-Authenticate',
      ),
      UnauthorizedBearer: error(bodies.others, 'The token was not recognised.', 'WWW-Authenticate'),
    },
  };
}
