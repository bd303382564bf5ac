// The fake of the API says nothing that the document does not, and takes nothing that it does not
// allow.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { emptyExample, FakeApi, operations } from './fake_api.ts';

describe('the fake of the API', () => {
  let fake: FakeApi;
  beforeAll(async () => {
    fake = await FakeApi.start({ checksAll: true });
  });
  afterAll(() => fake.stop());

  const send = (method: string, path: string, body?: unknown) =>
    fetch(fake.origin + path.replace(/\{(\w+)\}/g, '1'), {
      method,
      ...(body === undefined
        ? {}
        : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
    });
  const takeFaults = () => fake.faults.splice(0);

  test('answers every operation as the document says, with samples and with empty lists', async () => {
    for (const isEmpty of [false, true]) {
      fake.reset();
      if (isEmpty) fake.answer((operation) => ({ body: emptyExample(operation) }));
      for (const { method, path, isStream, status, requestBody } of operations) {
        if (isStream || (isEmpty && method !== 'GET')) continue;
        const body = requestBody?.content['application/json']?.example;
        expect((await send(method, path, body)).status, path).toBe(status);
      }
      expect(takeFaults().filter((fault) => !fault.includes(': the query: '))).toEqual([]);
    }
  });

  test('finds what the document does not allow, in requests and in answers that tests give', async () => {
    fake.reset();
    await send('GET', '/console/nothing');
    await send('GET', '/console/authlist?sort=colour');
    await send('GET', '/console/authlist?colour=red');
    await send('PATCH', '/console/authlist/1', { expiry: 'soon' });
    await send('POST', '/console/authlist');
    fake.answer('GET /console/authlist', { body: [{ ip: 1 }] });
    await send('GET', '/console/authlist');
    fake.answer('GET /console/authlist', { status: 418 });
    await send('GET', '/console/authlist');
    expect(takeFaults()).toEqual([
      'GET /console/nothing is not documented',
      expect.stringMatching(/^GET \/console\/authlist: the query: .*allowed values/),
      expect.stringMatching(/^GET \/console\/authlist: the query: .*additional properties/),
      expect.stringMatching(/^PATCH \/console\/authlist\/\{id\}: the body: \/expiry/),
      'POST /console/authlist: a body of the type ""',
      expect.stringMatching(/not the documented shape/),
      'the answer to GET /console/authlist: 418 is not documented here',
    ]);
    expect(() => fake.answer('GET /console/nothing')).toThrow('no operation');
  });
});
