// Errors of requests, as they are said to the person who made them.
import { afterAll, expect, test, vi } from 'vitest';

// Requests know where the operator's token is kept, which only a browser has.
vi.stubGlobal('sessionStorage', { getItem: () => null });
afterAll(() => vi.unstubAllGlobals());

const { ApiError, call } = await import('../src/api/api.ts');
const { explain } = await import('../src/api/sentences.ts');

const refusal = (status: number, message: string, headers: Record<string, string> = {}) =>
  explain(new ApiError(message, status, new Headers(headers)));

test('what the server says of a field goes beside that field, as a sentence', () => {
  expect(refusal(403, 'password: is not right.')).toEqual({
    field: 'password',
    sentence: 'This is not right.',
  });
  expect(refusal(401, 'code: was used already')).toEqual({
    field: 'code',
    sentence: 'This was used already.',
  });
  expect(refusal(400, 'password: expected 12 to 200 characters.')).toEqual({
    field: 'password',
    sentence: 'Expected 12 to 200 characters.',
  });
});

test('a sign-in that is not right names no field', () => {
  expect(refusal(401, 'account, user or password is not right.')).toEqual({
    field: undefined,
    sentence: 'Account, user or password is not right.',
  });
});

test('a number of an entry, which the console does not show, is not said', () => {
  const message =
    'hostname: shop.example.com is already overridden on here, by entry 3. No changes were made.';
  expect(refusal(409, message)).toEqual({
    field: 'hostname',
    sentence:
      'shop.example.com is already overridden on here, by another entry; change that one. No changes were made.',
  });
});

test('who must wait is told once for how long', () => {
  const message = 'Too many attempts; try again in 30 seconds.';
  expect(refusal(429, message, { 'retry-after': '30' }).sentence).toBe(
    'Too many attempts. Try again in 30 seconds.',
  );
  expect(refusal(429, message, { 'retry-after': '900' }).sentence).toBe(
    'Too many attempts. Try again in 15 minutes.',
  );
});

test('a fault of the server names the request in its log', () => {
  const { sentence } = refusal(500, 'Internal error', { 'x-request-id': 'r42' });
  expect(sentence).toContain('r42');
  expect(sentence).not.toContain('Internal error');
});

const unanswered = (message: string, isOfRead: boolean) =>
  explain(new ApiError(message, 0, undefined, isOfRead)).sentence;

test('what cannot be read is read again by itself, and that is said', () => {
  expect(unanswered('unreachable', true)).toBe(
    'The server cannot be reached. This page tries again by itself.',
  );
  expect(unanswered('timeout', true)).toBe(
    'The server did not answer in time. This page tries again by itself.',
  );
});

test('what came of a request says whether it was to change something', async () => {
  const fetching = vi.spyOn(globalThis, 'fetch').mockRejectedValue(new TypeError('no network'));
  const sentenceOf = (request: Promise<unknown>) =>
    request.then(String, (error) => explain(error).sentence);
  expect(await sentenceOf(call('console_list_sessions', {}))).toContain('tries again by itself');
  expect(await sentenceOf(call('console_end_other_sessions', {}))).toContain('try again.');
  fetching.mockRestore();
});

test('a change that got no answer is not made again by itself, and may have been made', () => {
  expect(unanswered('unreachable', false)).toBe(
    'The server cannot be reached. Nothing may have been done; try again.',
  );
  expect(unanswered('timeout', false)).toBe(
    'The server did not answer in time. What you asked for may have been done; look before you try again.',
  );
});
