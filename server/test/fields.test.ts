// The findings of a schema check, in words for people: the field, and what was expected of it.
import { Ajv } from 'ajv';
import { Type } from 'typebox';
import { expect, test } from 'vitest';
import { Integer, Name, Strict, schemaError, Text } from '../src/http/fields.ts';

const Body = Strict({
  name: Type.Optional(Name('A name.')),
  country: Type.Optional(Type.String({ pattern: '^[A-Z]{2}$' })),
  port: Type.Optional(Integer('A port.', 1, 499)),
  plan: Type.Optional(Text('A plan.', 3)),
  user: Type.Optional(Type.Union([Integer('An id.', 1), Text('A name.')])),
  limit: Type.Optional(Type.Union([Integer('Bytes.'), Type.Null()])),
  expire: Type.Optional(Integer('A lifetime.', 1)),
  span_seconds: Type.Optional(Integer('A span.', 60, 600)),
  list: Type.Optional(Type.Array(Type.Integer(), { minItems: 1, maxItems: 2, uniqueItems: true })),
});
const check = new Ajv({ strict: false }).compile(Body);

function errorOf(body: object) {
  expect(check(body)).toBe(false);
  return schemaError(check.errors as never, 'body');
}

const names =
  "letters, digits, '.', '_', '@' or '-', beginning with a letter or digit, at most 63 characters";

test.each<[object, string]>([
  [{ name: '-a' }, `name: expected ${names}.`],
  [{ name: 'a'.repeat(64) }, `name: expected ${names}.`],
  [{ country: 'nl' }, 'country: expected two upper-case letters.'],
  [{ port: 500 }, 'port: expected at most 499.'],
  [{ port: 0 }, 'port: expected at least 1.'],
  [{ plan: '' }, 'plan: expected at least 1 character.'],
  [{ plan: 'long' }, 'plan: expected at most 3 characters.'],
  [{ user: '' }, 'user: expected at least 1 character.'],
  [{ user: 0 }, 'user: expected at least 1.'],
  [{ user: true }, 'user: expected an integer or string.'],
  [{ limit: '5' }, 'limit: expected an integer or null.'],
  [{ limit: -5 }, 'limit: expected at least 0.'],
  [{ span_seconds: 5 }, 'span_seconds: expected at least 60 seconds.'],
  [{ expire: 0 }, 'expire: expected at least 1 second.'],
  [{ span_seconds: 601 }, 'span_seconds: expected at most 600 seconds.'],
  [{ list: [] }, 'list: expected at least 1 item.'],
  [{ list: [1, 2, 3] }, 'list: expected at most 2 items.'],
  [{ list: [1, 1] }, 'list: expected each item once.'],
  [{ list: [1, 'x'] }, 'list.1: expected an integer.'],
  [{ nothing: 1 }, 'nothing: is not a field of this request.'],
])('%j gets what was expected, and no regular expression', (body, sentence) => {
  const { message, code, field } = errorOf(body);
  const [named] = sentence.split(':');
  expect([message, code, field]).toEqual([sentence, 'invalid_field', named]);
});

test('a query parameter that is given twice is called that, whatever its schema', () => {
  const fault = { instancePath: '/detail', keyword: 'type', params: { type: 'string' } };
  expect(schemaError([fault], 'query').message).toBe(
    'detail: is given more than once; expected it once.',
  );
});
