// Generators of requests, made from the OpenAPI document: valid, nearly valid, and odd.
import { METHODS } from 'node:http';
import fc from 'fast-check';
import type { Document, Operation, Parameter, Schema } from '../scripts/openapi/shapes.ts';
import { followReferences } from './contract_checker.ts';

/** The principal that calls; `none` and `broken` are not authenticated. */
export type CallerName =
  | 'current'
  | 'earlier'
  | 'reader'
  | 'person'
  | 'operator'
  | 'node'
  | 'none'
  | 'broken';

export interface FuzzRequest {
  method: string;
  /** `{recent}` stands for the id of an entry that was created lately. */
  target: string;
  client: CallerName;
  /** `{recent}` in If-Match and If-None-Match stands for an ETag seen lately. */
  headers: Record<string, string>;
  body: string | Buffer | undefined;
}

/** Words of the network under test, by field; generated values are drawn from them. */
export type Words = Record<string, ReadonlyArray<unknown>>;

const odd = [
  '',
  ' ',
  '0',
  '-1',
  '1e3',
  'null',
  'true',
  '\u0000',
  'a\u0000b',
  '\ud800',
  '\udfff\ud800',
  'é',
  'ß',
  '名前',
  '😀',
  '‮',
  'a'.repeat(300),
  'x'.repeat(5000),
  "' or 1=1 --",
  '"; drop table authlist; --',
  '../../etc/passwd',
  '%00',
  '%',
  '%zz',
  '{{7*7}}',
  '__proto__',
  'constructor',
  '\r\nx: y',
  '<script>',
  '127.0.0.1',
  '::1',
  '0.0.0.0',
  '255.255.255.255',
  '224.0.0.1',
  '010.0.0.1',
  '1.2.3',
  '::ffff:203.0.113.9',
  'fe80::1%eth0',
  '203.0.113.0/24',
  'localhost',
  '*.example.com',
  'EXAMPLE.com.',
  'a..b',
  '-a.example',
  'xn--',
  'bücher.example',
  `${'a'.repeat(63)}.example`,
  `${'a.'.repeat(126)}a`,
];
const oddNumbers = [
  0,
  -0,
  -1,
  1,
  0.5,
  5.5,
  2 ** 31,
  2 ** 32,
  2 ** 53 - 1,
  2 ** 53,
  -(2 ** 53),
  1e15,
  1e21,
  1e308,
  5e-324,
  253_402_300_800,
];
const oddValues: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(null, true, false, [], {}, [[]], [null], { a: 1 }),
  fc.constantFrom<unknown>(...odd, ...oddNumbers),
  fc.string({ unit: 'binary', maxLength: 20 }),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
);

/** A value that fits the schema, of the network's words where there are some. */
function valid(schema: Schema, field: string, words: Words): fc.Arbitrary<unknown> {
  const values = words[field];
  if (values && schema.type !== 'array' && schema.type !== 'object')
    return fc.constantFrom(...values);
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (schema.enum) return fc.constantFrom(...schema.enum);
  if (schema.anyOf) return fc.oneof(...schema.anyOf.map((option) => valid(option, field, words)));
  const {
    minimum = -90,
    maximum = 2 ** 53 - 1,
    minLength = 0,
    maxLength = 40,
    minItems = 0,
  } = schema as Record<string, number | undefined>;
  switch (schema.type) {
    case 'boolean':
      return fc.boolean();
    case 'integer':
      return fc.oneof(
        fc.constantFrom(minimum, maximum, Math.min(minimum + 1, maximum)),
        fc.integer({ min: Math.max(minimum, -1000), max: Math.min(maximum, 100_000) }),
      );
    case 'number':
      return fc.double({ min: -90, max: 90, noNaN: true });
    case 'string':
      return schema.pattern
        ? fc.stringMatching(/^[A-Za-z0-9][a-z0-9]{0,12}$/)
        : fc.string({ minLength, maxLength: Math.min(maxLength, 40) });
    case 'array':
      return fc.array(valid(schema.items as Schema, field.replace(/s$/, ''), words), {
        minLength: minItems,
        maxLength: Math.max(minItems, 3),
      });
    case 'object':
      return fields(schema, words);
    default:
      return oddValues;
  }
}

function fields(schema: Schema, words: Words): fc.Arbitrary<unknown> {
  const required = schema.required ?? [];
  const all = Object.entries(schema.properties ?? {}).map(([name, property]) => [
    name,
    valid(property, name, words),
  ]);
  return fc.record(Object.fromEntries(all), { requiredKeys: required as never[] });
}

/** A body with one thing wrong, or more. */
function nearlyValid(schema: Schema, words: Words): fc.Arbitrary<unknown> {
  const names = Object.keys(schema.properties ?? { a: 1 });
  const unknown = fc.constantFrom(
    'expire',
    'Id',
    '__proto__',
    'constructor',
    'toString',
    'a b',
    '',
  );
  const wrong = fc.record({
    name: fc.oneof(
      { weight: 4, arbitrary: fc.constantFrom(...names) },
      { weight: 1, arbitrary: unknown },
    ),
    value: oddValues,
  });
  return fc.oneof(
    fc.tuple(valid(schema, '', words), wrong).map(([value, { name, value: bad }]) => {
      const changed = { ...(value as object) };
      Object.defineProperty(changed, name, { value: bad, enumerable: true });
      return changed;
    }),
    fc.tuple(valid(schema, '', words), fc.constantFrom(...names)).map(([value, name]) => {
      const { [name]: _, ...rest } = value as Record<string, unknown>;
      return rest;
    }),
    oddValues,
  );
}

const brokenBodies = fc.constantFrom<string | Buffer>(
  '',
  ' ',
  '{',
  '}',
  '{"a":1',
  '[1,]',
  '{"user":"alice","user":"bob"}',
  '{"user":"al\\u0069ce","expiry":1e400}',
  'nul',
  '\ufeff{}',
  Buffer.from([0x7b, 0xff, 0xfe, 0x7d]),
  '['.repeat(2000),
  `${'{"a":'.repeat(20)}1${'}'.repeat(20)}`,
  `{"a":"${'x'.repeat(70_000)}"}`,
  '"\\ud800"',
  '-0',
  '9007199254740993',
);

function bodyOf(operation: Operation, words: Words): fc.Arbitrary<string | Buffer | undefined> {
  const content = operation.requestBody?.content['application/json'];
  if (!content) {
    return fc.oneof(
      { weight: 9, arbitrary: fc.constant(undefined) },
      { weight: 1, arbitrary: fc.constantFrom('{}', 'x', 'null') },
    );
  }
  return fc.oneof(
    {
      weight: 6,
      arbitrary: valid(content.schema, '', words).map((value) => JSON.stringify(value)),
    },
    {
      weight: 4,
      arbitrary: nearlyValid(content.schema, words).map((value) => JSON.stringify(value)),
    },
    { weight: 1, arbitrary: brokenBodies },
    { weight: 1, arbitrary: fc.constant(undefined) },
  );
}

/** Escapes as little as a URL needs, so that odd text arrives odd. */
function escaped(text: string): string {
  return encodeURIComponent(text.toWellFormed());
}

function pathOf(path: string, parameters: Parameter[], words: Words): fc.Arbitrary<string> {
  const names = parameters.filter((parameter) => parameter.in === 'path').map(({ name }) => name);
  const segment = (name: string) =>
    fc.oneof(
      {
        weight: 8,
        arbitrary: fc
          .constantFrom(...(words[name] ?? ['1']))
          .map(String)
          .map((text) => (text === '{recent}' ? text : escaped(text))),
      },
      { weight: 1, arbitrary: fc.constantFrom(...odd).map(escaped) },
      {
        weight: 1,
        arbitrary: fc.constantFrom(
          '%',
          '%zz',
          '%ff',
          '%2e%2e',
          '..',
          '',
          '0',
          '01',
          '-1',
          '1.0',
          '9007199254740993',
          '%00',
        ),
      },
    );
  return fc
    .tuple(...names.map(segment))
    .map((values) =>
      names.reduce(
        (target, name, at) => target.replace(`{${name}}`, () => values[at] as string),
        path,
      ),
    );
}

function queryOf(parameters: Parameter[], words: Words): fc.Arbitrary<string> {
  const parameterNames = parameters
    .filter((parameter) => parameter.in === 'query')
    .map(({ name }) => name);
  const pair = fc.tuple(
    fc.oneof(
      {
        weight: 8,
        arbitrary: fc.constantFrom(...parameterNames, ...(parameterNames.length ? [] : ['a'])),
      },
      { weight: 1, arbitrary: fc.constantFrom('a', 'Detail', '__proto__', 'detail[]', '%zz') },
    ),
    fc.oneof(
      { weight: 2, arbitrary: fc.constantFrom(...odd).map(escaped) },
      { weight: 1, arbitrary: fc.constantFrom('', '%', '%ff', '+', ',', 'a,,b') },
    ),
  );
  const good = fc.subarray(parameterNames).chain((chosen) =>
    fc.tuple(
      ...chosen.map((name) =>
        fc
          .array(fc.constantFrom(...(words[`${name}?`] ?? words[name] ?? ['1'])), {
            minLength: 1,
            maxLength: 2,
          })
          .map((values) => `${name}=${escaped(values.join(','))}`),
      ),
    ),
  );
  return fc.oneof(
    { weight: 5, arbitrary: fc.constant('') },
    {
      weight: parameterNames.length ? 6 : 0,
      arbitrary: good.map((pairs) => (pairs.length ? `?${pairs.join('&')}` : '')),
    },
    {
      weight: 2,
      arbitrary: fc
        .array(pair, { minLength: 1, maxLength: 3 })
        .map((pairs) => `?${pairs.map(([name, value]) => `${name}=${value}`).join('&')}`),
    },
    {
      weight: 1,
      arbitrary: fc.constantFrom('?', '??', '?&&', '?=', '#x', '?detail=location&detail=usage'),
    },
  );
}

const tags = fc.constantFrom(
  '*',
  '{recent}',
  'W/{recent}',
  '"x", {recent}',
  '"x"',
  'W/"x"',
  'x',
  '"',
  ',',
  '',
);
const headersOf = fc.record(
  {
    'if-match': tags,
    'if-none-match': tags,
    'idempotency-key': fc.constantFrom('k1', 'k2', 'k3', 'a b', 'é', 'x'.repeat(256), '~'),
    prefer: fc.constantFrom(
      'wait=0',
      'wait=x',
      'respond-async',
      'wait=-1',
      'wait="0"',
      'return=minimal, wait=0',
    ),
    accept: fc.constantFrom('application/json', 'text/html', '*/*', 'x'),
    'content-type': fc.constantFrom(
      'text/plain',
      'application/json; charset=utf-8',
      'application/json;charset=latin1',
      'application/jsonx',
      'APPLICATION/JSON',
      'text/csv',
      'multipart/form-data',
      '',
      '/',
      'application/x-www-form-urlencoded',
    ),
    'sec-fetch-site': fc.constantFrom('cross-site', 'same-origin', 'none'),
    'x-forwarded-for': fc.constantFrom('203.0.113.99', 'garbage', ''),
    'accept-encoding': fc.constantFrom('gzip', 'br'),
    range: fc.constant('bytes=0-1'),
    'last-event-id': fc.constantFrom('x', 'a:1', ''),
  },
  { requiredKeys: [] },
);
/** Most requests carry few odd headers. */
const someHeaders = fc
  .tuple(headersOf, fc.array(fc.nat(10), { maxLength: 2 }))
  .map(([all, chosen]) => {
    const entries = Object.entries(all);
    return Object.fromEntries(chosen.flatMap((at) => (entries[at] ? [entries[at]] : []))) as Record<
      string,
      string
    >;
  });

const methods = METHODS.filter((method) => method !== 'CONNECT');

/** Requests to one operation of the document, and around it. */
function around(
  path: string,
  method: string,
  operation: Operation,
  words: Words,
): fc.Arbitrary<FuzzRequest> {
  const parameters = (operation.parameters ?? []) as Parameter[];
  const variant = operation.description?.startsWith('**Earlier') ? 'earlier' : 'current';
  const right: CallerName[] = path.startsWith('/admin')
    ? ['operator']
    : path.startsWith('/node')
      ? ['node']
      : path.startsWith('/console')
        ? ['person']
        : [variant];
  const others: CallerName[] = [
    'current',
    'earlier',
    'reader',
    'person',
    'none',
    'broken',
    'operator',
    'node',
  ];
  const usual = method.toUpperCase();
  return fc
    .record({
      method: fc.oneof(
        { weight: 18, arbitrary: fc.constant(usual) },
        { weight: method === 'get' ? 2 : 0, arbitrary: fc.constant('HEAD') },
        { weight: 1, arbitrary: fc.constantFrom(...methods) },
      ),
      path: pathOf(path, parameters, words),
      query: queryOf(parameters, words),
      client: fc.oneof(
        {
          weight: 12,
          arbitrary: fc.constantFrom(
            ...right,
            ...(path.startsWith('/v0') ? (['current', 'earlier'] as const) : right),
          ),
        },
        { weight: 1, arbitrary: fc.constantFrom(...others) },
      ),
      headers: someHeaders,
      body: bodyOf(operation, words),
    })
    .map(({ method: operationMethod, path: real, query, client, headers, body }) => ({
      method: operationMethod,
      target: real + query,
      client,
      headers:
        body === undefined || headers['content-type'] !== undefined
          ? headers
          : { ...headers, 'content-type': 'application/json' },
      body,
    }));
}

const strayPaths = fc.constantFrom(
  '/v0/',
  '/v0//contract',
  '//v0/contract',
  '/V0/contract',
  '/v0/contract/',
  '/v0/contract/ip-authlist/',
  '/v0/contract/overrides/',
  '/v0/users/',
  '/v0/../v0/contract',
  '/v0/contract/ip-authlist/1/2',
  '/v0/%63ontract',
  '/%760/contract',
  '/v0%2Fcontract',
  '/v0;x',
  '/v0/contract;x=1',
  '/v0/*',
  '/v0/%',
  '/v0/contract/ip-authlist/%ff',
  `/v0/${'a'.repeat(3000)}`,
  '/v0/contract/servers/',
  '/admin',
  '/admin/',
  '/node',
  '/node/',
  '/nothing',
  '/v1/contract',
  '/v0/contract%00',
  '/v0/contract/servers/fra1%2F',
  '/favicon.ico',
);

/** Requests over the whole document. `isSafe` leaves out those that would end the test itself. */
export function requests(
  document: Document,
  words: Words,
  isSafe: (request: FuzzRequest) => boolean,
): fc.Arbitrary<FuzzRequest> {
  const whole = followReferences(document, document.paths) as Document['paths'];
  const operations = Object.entries(whole).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({
      // The spec's paths, and creation among them, come more often.
      weight:
        (path.startsWith('/v0') ? 8 : path.startsWith('/console') ? 1 : 2) *
        (method === 'post' || method === 'patch' ? 3 : 1) *
        (method === 'delete' && !path.endsWith('}') && path.startsWith('/v0') ? 0.25 : 1) *
        10,
      arbitrary: around(path, method, operation, words),
    })),
  );
  const stray = fc.record({
    method: fc.constantFrom(...methods),
    target: strayPaths,
    client: fc.constantFrom<CallerName>('current', 'earlier', 'none'),
    headers: someHeaders,
    body: fc.constantFrom(undefined, '{}'),
  });
  return fc.oneof(...operations, { weight: 75, arbitrary: stray }).filter(isSafe);
}
