// Errors of requests, as they are said to the person who made them.
import { afterAll, expect, test, vi } from 'vitest';

// Requests know where the operator's token is kept, which only a browser has.
vi.stubGlobal('sessionStorage', { getItem: () => null });
afterAll(() => vi.unstubAllGlobals());

const { ApiError } = await import('../src/api.ts');
const { explain } = await import('../src/sentences.ts');

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

test('a page that cannot reach the server says so', () => {
  expect(explain(new ApiError('unreachable', 0)).sentence).toContain('cannot be reached');
  expect(explain(new ApiError('timeout', 0)).sentence).toContain('did not answer in time');
});
