// The checker of answers can fail: each kind of broken answer is refused, and the whole one is not.
import { beforeAll, describe, expect, test } from 'vitest';
import { makeDocument } from '../scripts/openapi/document.ts';
import { ContractChecker, type Received, type Sent } from './contract_checker.ts';

let checker: ContractChecker;
beforeAll(async () => {
  checker = new ContractChecker((await makeDocument()).document, ['canary-name']);
});

const list: Sent = { method: 'GET', target: '/v0/contract/overrides?server=fra1' };
const entry = {
  id: 1,
  server: 'fra1',
  hostname: 'a.example',
  ip: '203.0.113.7',
  expiry: 1_900_000_000,
  status: 'pending',
};
const whole: Received = {
  status: 200,
  headers: {
    'content-type': 'application/json; charset=UTF-8',
    etag: `"${'a'.repeat(27)}"`,
    'x-request-id': 'abcd-1',
  },
  body: JSON.stringify([entry]),
};
const error = (status: number, body: unknown = { message: 'No.' }): Received => ({
  ...whole,
  status,
  headers: { ...whole.headers, 'exitward-error': 'bad_request' },
  body: JSON.stringify(body),
});
const servers: Sent = { method: 'GET', target: '/admin/servers' };
const refused = { message: 'No.', code: 'bad_request' };
const withHeaders = (headers: Received['headers'], base = whole): Received => ({
  ...base,
  headers: { ...base.headers, ...headers },
});
const record = (changed: object): Received => ({
  ...whole,
  body: JSON.stringify([{ ...entry, ...changed }]),
});

test('a whole answer has no faults', () => {
  expect(checker.faults(list, whole)).toEqual([]);
  expect(checker.faults({ ...list, method: 'HEAD' }, { ...whole, body: '' })).toEqual([]);
  expect(checker.faults(list, error(400))).toEqual([]);
  expect(checker.faults(servers, error(400, refused))).toEqual([]);
  const besides: Sent = { method: 'GET', target: '/v0;x' };
  expect(checker.faults(besides, error(404, { ...refused, code: 'not_found' }))).toEqual([]);
  const ofField = { message: 'limit: no.', code: 'invalid_field', field: 'limit' };
  expect(checker.faults(servers, error(400, ofField))).toEqual([]);
  expect(
    checker.faults(
      { method: 'PUT', target: '/v0/contract' },
      withHeaders({ allow: 'GET, HEAD' }, error(405)),
    ),
  ).toEqual([]);
});

describe('refuses', () => {
  const post: Sent = { method: 'POST', target: '/v0/contract/overrides' };
  const broken: Array<[string, Sent, Received]> = [
    ['an undocumented status', list, { ...whole, status: 202 }],
    [
      'a 405 for a method that is documented',
      list,
      withHeaders({ allow: 'GET, HEAD' }, error(405)),
    ],
    ['a 500', list, error(500)],
    ['a field too many', list, record({ owner: 'acme' })],
    ['a field of another type', list, record({ id: '1' })],
    ['a field that is missing', list, record({ status: undefined })],
    ['a value that is not one of the states', list, record({ status: 'gone' })],
    ['an object in place of a list', list, { ...whole, body: JSON.stringify(entry) }],
    ['what is not JSON', list, { ...whole, body: '[' }],
    ['another content type', list, withHeaders({ 'content-type': 'application/json' })],
    ['an error with more than a message', list, error(400, { message: 'No.', code: 7 })],
    [
      'an error of /v0 without its code',
      list,
      withHeaders({ 'exitward-error': undefined }, error(400)),
    ],
    [
      'an error of /v0 with a code that is none',
      list,
      withHeaders({ 'exitward-error': 'no' }, error(400)),
    ],
    ['an error without its code', servers, error(400)],
    ['an error with a code that is none', servers, error(400, { message: 'No.', code: 'no' })],
    ['an error with a member too many', servers, error(400, { ...refused, why: 'no' })],
    ['an error whose message is not of its field', servers, error(400, { ...refused, field: 'a' })],
    ['an error with an empty message', list, error(400, { message: '' })],
    ['a 200 without an ETag', list, withHeaders({ etag: undefined })],
    ['an ETag that is not of its encoding', list, withHeaders({ 'content-encoding': 'br' })],
    ['no request id', list, withHeaders({ 'x-request-id': undefined })],
    [
      'a body with 204',
      { method: 'DELETE', target: '/v0/contract/overrides/1' },
      { ...whole, status: 204 },
    ],
    ['a body with 304', list, { ...whole, status: 304 }],
    ['a body for HEAD', { ...list, method: 'HEAD' }, whole],
    ['a 201 without Location', post, { ...whole, status: 201, body: JSON.stringify(entry) }],
    ['a 405 without Allow', { method: 'PUT', target: '/v0/contract' }, error(405)],
    [
      'an Allow that is not true',
      { method: 'PUT', target: '/v0/contract' },
      withHeaders({ allow: 'GET, POST' }, error(405)),
    ],
    ['a 401 that does not say how', list, error(401)],
    ['a 503 without Retry-After', list, error(503)],
    ["another account's name in the body", list, record({ hostname: 'canary-name.example' })],
    ["another account's name in a header", list, withHeaders({ link: '/canary-name' })],
    ['a stack trace', list, error(400, { message: 'at parse (/srv/json.ts:12:3)' })],
    ['a 200 where there is no path', { method: 'GET', target: '/v0/nothing' }, whole],
  ];
  test.each(broken)('%s', (_, sent, received) => {
    expect(checker.faults(sent, received)).not.toEqual([]);
  });
});
