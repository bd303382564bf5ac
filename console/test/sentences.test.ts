// Errors of requests, as they are said to the person who made them.
import { expect, test, vi } from 'vitest';

// Requests know where the operator's token is kept, which only a browser has.
vi.stubGlobal('sessionStorage', { getItem: () => null });

const { ApiError, call } = await import('../src/api/api.ts');
const { explain } = await import('../src/api/sentences.ts');

type Body = ConstructorParameters<typeof ApiError>[1];
const explained = (status: number, body: Body, headers: Record<string, string> = {}) =>
  explain(new ApiError(status, body, { headers: new Headers(headers) }));

test('what the server says of a field goes beside that field, as a sentence', () => {
  const body = {
    message: 'password: is not right.',
    code: 'wrong_password' as const,
    field: 'password',
  };
  expect(explained(403, body)).toEqual({ field: 'password', sentence: 'This is not right.' });
  const used = { message: 'code: was used already', code: 'wrong_code' as const, field: 'code' };
  expect(explained(401, used)).toEqual({ field: 'code', sentence: 'This was used already.' });
  const short = {
    message: 'password: expected 12 to 200 characters.',
    code: 'invalid_field' as const,
  };
  expect(explained(400, { ...short, field: 'password' })).toEqual({
    field: 'password',
    sentence: 'Expected 12 to 200 characters.',
  });
});

test('a field is the one that the server names, whatever the sentence looks like', () => {
  const message = 'note: this names no field';
  expect(explained(409, { message, code: 'conflict' as const })).toEqual({
    field: undefined,
    sentence: 'Note: this names no field.',
  });
});

test('a sign-in that is not right names no field', () => {
  const message = 'account, user or password is not right.';
  expect(explained(401, { message, code: 'wrong_password' as const })).toEqual({
    field: undefined,
    sentence: 'Account, user or password is not right.',
  });
});

test('a wait is explained once, with its length', () => {
  const body = {
    message: 'Too many attempts; try again in 30 seconds.',
    code: 'throttled' as const,
  };
  expect(explained(429, body, { 'retry-after': '30' }).sentence).toBe(
    'Too many attempts. Try again in 30 seconds.',
  );
  expect(explained(429, body, { 'retry-after': '900' }).sentence).toBe(
    'Too many attempts. Try again in 15 minutes.',
  );
});

test('a fault of the server names the request in its log', () => {
  const body = { message: 'Internal error', code: 'internal_error' as const };
  const { sentence } = explained(500, body, { 'x-request-id': 'r42' });
  expect(sentence).toContain('r42');
  expect(sentence).not.toContain('Internal error');
});

const unanswered = (code: 'timeout' | 'unreachable', isOfRead: boolean) =>
  explain(new ApiError(0, { message: code, code }, { isOfRead })).sentence;

test('what cannot be read is read again by itself, and that is said', () => {
  expect(unanswered('unreachable', true)).toBe(
    'Couldn’t reach the server. This page tries again automatically.',
  );
  expect(unanswered('timeout', true)).toBe(
    'The server didn’t respond in time. This page tries again automatically.',
  );
});

test('what came of a request says whether it was to change something', async () => {
  const fetching = vi.spyOn(globalThis, 'fetch').mockRejectedValue(new TypeError('no network'));
  const sentenceOf = (request: Promise<unknown>) =>
    request.then(String, (error) => explain(error).sentence);
  expect(await sentenceOf(call('console_list_sessions', {}))).toContain(
    'tries again automatically',
  );
  expect(await sentenceOf(call('console_end_other_sessions', {}))).toContain('try again.');
  fetching.mockRestore();
});

test('a change that got no answer is not made again by itself, and may have been made', () => {
  expect(unanswered('unreachable', false)).toBe(
    'Couldn’t reach the server. Your change may not have been saved; try again.',
  );
  expect(unanswered('timeout', false)).toBe(
    'The server didn’t respond in time. Your change may have been saved; check before you try again.',
  );
});
