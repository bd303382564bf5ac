// The components that operations of the OpenAPI document share: headers, errors, ways to authenticate.
import { sample } from './samples.ts';
import type { Answer, Document, NamedSchemas, Parameter, Reference, Schema } from './shapes.ts';
import { errorWords } from './words.ts';

const text: Schema = { type: 'string' };

const headers: Document['components']['headers'] = {
  Allow: { description: 'The methods that this path knows.', schema: text, example: 'GET, HEAD' },
  ETag: {
    description: 'The version of this response, for If-None-Match and If-Match.',
    schema: text,
    example: '"V3Ck0CQ7OqyHzUGi5AKDKzl1Iu0"',
  },
  'Exitward-Error': {
    description: 'The code of the error, for programs: one of `ErrorCode`.',
    schema: { $ref: '#/components/schemas/ErrorCode' },
    example: 'not_found',
  },
  'Exitward-Found': {
    description: 'Of a first page: how many entries fit what is asked for.',
    schema: { type: 'integer' },
    example: 63,
  },
  'Exitward-Total': {
    description: 'Of a first page: how many entries the list has.',
    schema: { type: 'integer' },
    example: 100_000,
  },
  Link: {
    description: 'Where the next page is, when there is more.',
    schema: text,
    example: '</admin/accounts?limit=100&after=acme>; rel="next"',
  },
  Location: {
    description: 'Relative path of the new record. Under `/v0` it goes behind `{base_url}/v0`.',
    schema: text,
    example: '/contract/ip-authlist/1',
  },
  'Preference-Applied': {
    description: 'The `Prefer: wait=N` that was honoured.',
    schema: text,
    example: 'wait=10',
  },
  RateLimit: {
    description: 'Requests left, and seconds until the limit begins anew.',
    schema: text,
    example: '"token";r=0;t=42',
  },
  'RateLimit-Policy': {
    description: 'Requests allowed in so many seconds.',
    schema: text,
    example: '"token";q=600;w=60',
  },
  'RateLimit-Limit': { description: 'Requests allowed in a minute.', schema: { type: 'integer' } },
  'RateLimit-Remaining': { description: 'Requests left in it.', schema: { type: 'integer' } },
  'RateLimit-Reset': { description: 'Seconds until it ends.', schema: { type: 'integer' } },
  'Retry-After': { description: 'Seconds to wait.', schema: { type: 'integer' }, example: 60 },
  'WWW-Authenticate': {
    description: 'How to authenticate.',
    schema: text,
    example: 'Basic realm="Exitward", charset="UTF-8"',
  },
  'X-Request-Id': {
    description: 'Names this request in the log and in the audit log.',
    schema: text,
    example: 'k3v9x2ab-1f',
  },
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

/** The schema of an error's body: under `/v0`, and everywhere else. */
export interface ErrorBodies {
  v0: Schema;
  others: Schema;
}

/** Everything below `components`. */
export function components(
  bodies: ErrorBodies,
  schemas: Record<string, Schema>,
  named: NamedSchemas,
): Document['components'] {
  const response = (description: string, ...headerNames: string[]): Answer => ({
    description,
    headers: Object.fromEntries(
      [...headerNames, 'X-Request-Id'].map((name): [string, Reference] => [
        name,
        { $ref: `#/components/headers/${name}` },
      ]),
    ),
  });
  const error = (description: string, ...headerNames: string[]): Answer => {
    const schema = bodies.others;
    const content = { 'application/json': { schema, example: sample(named, schema) } };
    return { ...response(description, ...headerNames), content };
  };
  const errorOfV0 = (description: string, ...headerNames: string[]): Answer => {
    const schema = bodies.v0;
    const content = { 'application/json': { schema, example: sample(named, schema) } };
    return { ...response(description, 'Exitward-Error', ...headerNames), content };
  };
  const more: Record<number, string[]> = {
    401: ['WWW-Authenticate'],
    405: ['Allow'],
    429: [
      'RateLimit',
      'RateLimit-Policy',
      'RateLimit-Limit',
      'RateLimit-Remaining',
      'RateLimit-Reset',
      'Retry-After',
    ],
    503: ['Retry-After'],
  };
  const responses = Object.fromEntries(
    Object.entries(errorWords).flatMap(([status, { name, description }]) => {
      const headerNames = more[Number(status)] ?? [];
      return [
        [`V0${name}`, errorOfV0(description, ...headerNames)],
        ...(status === '401' ? [] : [[name, error(description, ...headerNames)]]),
      ];
    }),
  ) as Record<string, Answer>;
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
        'No session: no person is signed in, or the session has ended.',
        'WWW-Authenticate',
      ),
      UnauthorizedBearer: error('The token was not recognised.', 'WWW-Authenticate'),
    },
  };
}
