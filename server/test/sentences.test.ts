// The sentence for each fault that a body or query can have, by the API document: it names the
// field, and says what is right in our words, not in those of a library.
import { readFileSync } from 'node:fs';
import { Ajv } from 'ajv';
import { beforeAll, describe, expect, test } from 'vitest';
import { schemaError } from '../src/http/fields.ts';
import { eachApp } from './apps.ts';
import type { BuiltAccount } from './builders.ts';
import type { Answer } from './harness.ts';

interface Operation {
  parameters?: Array<{ name: string; in: string; required?: boolean; schema: { enum?: string[] } }>;
  requestBody?: { content: Record<string, { schema: object; example?: unknown }> };
}

const document = JSON.parse(
  readFileSync(new URL('../../docs/openapi.json', import.meta.url), 'utf8'),
) as { paths: Record<string, Record<string, Operation>> };

const ajv = new Ajv({ strict: false, validateFormats: false });
ajv.addSchema(document, 'api');
const pointer = (part: string) => part.replaceAll('~', '~0').replaceAll('/', '~1');

const bodies = Object.entries(document.paths).flatMap(([path, operations]) =>
  Object.entries(operations).flatMap(([method, { requestBody }]) => {
    const json = requestBody?.content['application/json'];
    if (!json) return [];
    const $ref = `api#/paths/${pointer(path)}/${method}/requestBody/content/${pointer('application/json')}/schema`;
    return [{ name: `${method} ${path}`, example: json.example, $ref }];
  }),
);

const wrongValues = [
  null,
  true,
  [],
  {},
  '',
  'x'.repeat(70_000),
  -1,
  1.5,
  1e300,
  '\u0416',
  [null],
  [[]],
];

/** The value with each part of it spoiled in each way, and the path of that part. */
function* spoiled(value: unknown, path: string[] = []): Generator<[string[], unknown]> {
  for (const wrong of wrongValues) yield [path, wrong];
  if (typeof value !== 'object' || value === null) return;
  for (const [name, part] of Object.entries(value)) {
    const others = (change: unknown) =>
      Array.isArray(value)
        ? value.map((item, index) => (String(index) === name ? change : item))
        : { ...value, [name]: change };
    for (const [inner, change] of spoiled(part, [...path, name])) yield [inner, others(change)];
    if (Array.isArray(value)) continue;
    const { [name]: _, ...rest } = value as Record<string, unknown>;
    yield [[...path, name], rest];
  }
  if (!Array.isArray(value)) yield [[...path, 'no_such_field'], { ...value, no_such_field: 1 }];
}

const ours =
  /^(?:is missing from the (?:body|query)|is not a (?:field|query parameter) of this request|expected .+)\.$/;
const theirs = /\bmust\b|\bNOT\b|schema|undefined|[\\^$]|\(\?|anyOf|\bobject Object\b/;

describe.each(bodies)('$name', ({ example, $ref }) => {
  const check = ajv.compile({ $ref });
  test('each spoiled field is named, with what is right', () => {
    const wrong = new Set<string>();
    for (const [path, body] of spoiled(example)) {
      if (check(body)) continue;
      const { message, field = '' } = schemaError(check.errors as never, 'body');
      const sentence = field ? message.slice(field.length + 2) : message;
      const isNamed = field === path.join('.') || field.startsWith(path.join('.'));
      if (!isNamed || (field && !ours.test(sentence)) || theirs.test(sentence)) {
        wrong.add(`${path.join('.')} -> ${message.slice(0, 150)}`);
      }
    }
    expect([...wrong]).toEqual([]);
  });
});

test('there are bodies with examples', () => {
  expect(bodies.filter(({ example }) => example === undefined)).toEqual([]);
  expect(bodies.length).toBeGreaterThan(40);
});

const reads = Object.entries(document.paths).flatMap(([path, { get }]) => {
  const queries = (get?.parameters ?? []).filter((each) => each.in === 'query');
  return get && /^\/(?:v0|admin)(?:\/|$)/.test(path) ? [{ path, queries }] : [];
});
/** Each parameter gets one of them. */
const wrongTexts = ['', '-1', 'x'.repeat(3000), '9'.repeat(30)];
const records: Record<string, string> = { account: 'acme', server: 'fra1', user: 'alice' };

eachApp((t) => {
  let acme: BuiltAccount;
  beforeAll(async () => {
    await t.server('fra1');
    acme = await t.account('acme', { servers: ['fra1'] });
  });
  const send = (method: string, path: string, query = '') => {
    const place = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => records[name] ?? '1');
    const client = place.startsWith('/v0') ? t.as(acme) : t.operator;
    return client.send(method, `${place.replace(/^\/\w+/, '')}${query}`);
  };

  test('each wrong query parameter is named, with what is right', async () => {
    const wrong = new Set<string>();
    for (const { path, queries } of reads) {
      const tried = queries.flatMap(({ name }, index) => [
        [name, `${name}=${wrongTexts[index % wrongTexts.length]}`] as const,
        [name, `${name}=1&${name}=1`] as const,
      ]);
      for (const [name, query] of [...tried, ['no_such', 'no_such=1'] as const]) {
        const others = queries
          .filter(({ required, ...other }) => required && other.name !== name)
          .map(({ name, schema }) => `&${name}=${schema.enum?.[0] ?? '192.0.2.1'}`);
        const { status, body } = await send('GET', path, `?${query}${others.join('')}`);
        if (status !== 400) continue;
        const { message } = body as { message: string };
        if (!message.startsWith(`${name}: `) || theirs.test(message)) {
          wrong.add(`${path} ${query.slice(0, 40)} -> ${message.slice(0, 150)}`);
        }
      }
    }
    expect([...wrong]).toEqual([]);
  });

  test('HEAD has the status, length and type of GET, right or refused', async () => {
    const shown = ({ status, headers }: Answer) =>
      ['content-length', 'content-type', 'etag']
        .map((name) => headers.get(name))
        .concat(`${status}`);
    const streams = /\/(?:events|changes)$/;
    for (const { path } of reads.filter((read) => !streams.test(read.path))) {
      for (const query of ['', '?no_such=1']) {
        const [get, head] = [await send('GET', path, query), await send('HEAD', path, query)];
        expect([path, query, ...shown(head)]).toEqual([path, query, ...shown(get)]);
      }
    }
  });
});
