// The session and the operator token: how they begin and end, and how the sign-in pages tell of it.
import { beforeEach, expect, test, vi } from 'vitest';

// Only browsers have one.
const storage = new Map<string, string>();
vi.stubGlobal('sessionStorage', {
  getItem: (key: string) => storage.get(key) ?? null,
  setItem: (key: string, value: string) => storage.set(key, value),
  removeItem: (key: string) => storage.delete(key),
});
const { ApiError } = await import('../src/api/api.ts');
const sessions = await import('../src/api/session.ts');
const { session, sessionEnded, setSession, handleAuthError } = sessions;
const tokens = await import('../src/api/operator_token.ts');
const { operatorToken, operatorTokenEnded, setOperatorToken, forgetOperatorToken } = tokens;

/** The response to a request after the session, or the operator token, has ended. */
const signedOut = (isOfOperator: boolean) => {
  const code = isOfOperator ? ('unauthorized' as const) : ('session_ended' as const);
  handleAuthError(new ApiError(401, { message: 'Sign in first.', code }, { isOfOperator }));
};

const alice = { account: 'acme', user: { name: 'alice' } } as NonNullable<typeof session.value>;

beforeEach(() => {
  setSession(null);
  forgetOperatorToken();
});

test('a session that the server does not know any more has ended, until somebody signs in', () => {
  setSession(alice);
  signedOut(false);
  expect([session.value, sessionEnded.value]).toEqual([null, true]);
  setSession(alice);
  expect(sessionEnded.value).toBe(false);
});

test('signing out shows no ended session, whenever a late answer says so', () => {
  setSession(alice);
  signedOut(false);
  setSession(null);
  signedOut(false);
  expect([session.value, sessionEnded.value]).toEqual([null, false]);
});

test('an operator token that stops working is forgotten, and the page says so until another one is entered', () => {
  setOperatorToken('ewo_one', true);
  signedOut(true);
  expect([operatorToken.value, operatorTokenEnded.value, storage.size]).toEqual([null, true, 0]);
  setOperatorToken('ewo_two', false);
  expect(operatorTokenEnded.value).toBe(false);
});

test('an operator who signs out does not see that the token is no longer valid', () => {
  setOperatorToken('ewo_one', true);
  forgetOperatorToken();
  signedOut(true);
  expect([operatorToken.value, operatorTokenEnded.value]).toEqual([null, false]);
});

test('session and operator token end each for itself', () => {
  setSession(alice);
  setOperatorToken('ewo_one', false);
  signedOut(true);
  expect([session.value, sessionEnded.value, operatorTokenEnded.value]).toEqual([
    alice,
    false,
    true,
  ]);
});

test('a wrong password or code is a 401, too, and ends no session', () => {
  setSession(alice);
  const wrong = { message: 'code: is not right.', code: 'wrong_code' as const, field: 'code' };
  handleAuthError(new ApiError(401, wrong));
  expect([session.value, sessionEnded.value]).toEqual([alice, false]);
});
