// The session of a page and that of the browser's cookie: another tab may have changed it.
import { afterAll, beforeEach, expect, test, vi } from 'vitest';

// Only browsers have one.
vi.stubGlobal('sessionStorage', { getItem: () => null });
/** The server's response about the cookie's session, and the requests that it got. */
let present: unknown;
let requests: Array<{ url: string; shown: string | null }> = [];
let answers: Record<string, [number, unknown]> = {};
vi.stubGlobal('fetch', async (url: string, { headers }: { headers: HeadersInit }) => {
  requests.push({ url, shown: new Headers(headers).get('exitward-session') });
  const [status, body] = answers[url] ?? [200, present];
  return Response.json(body, { status });
});

const { change, queries } = await import('../src/api/reading.ts');
const { readSession, readOnlyReasonOf, session, setSession } = await import(
  '../src/api/session.ts'
);
type Session = NonNullable<typeof session.value>;

const sessionOf = (account: string, name: string, session_id: number, flags = {}) =>
  ({ account, user: { id: 1, name, flags }, session_id, now: 1 }) as unknown as Session;
const alice = sessionOf('acme', 'alice', 7);
const otherSession = {
  message: 'This page was opened in another session; reload it.',
  code: 'other_session',
};
afterAll(() => setSession(null));
const usersKey = ['console_list_users', {}, '/console'];
const cachedUsers = () => queries.getQueryData(usersKey);

beforeEach(() => {
  setSession(null);
  setSession(alice);
  queries.setQueryData(usersKey, ['of acme']);
  present = alice;
  requests = [];
  answers = {};
});

test('each request says which session the page shows, except the one that asks which it is', async () => {
  await change('console_end_other_sessions', {});
  await readSession();
  expect(requests).toEqual([
    { url: '/console/sessions', shown: 'acme/7' },
    { url: '/console/session', shown: null },
  ]);
  setSession(null);
  await change('console_end_other_sessions', {});
  expect(requests.at(-1)?.shown).toBe(null);
});

test('a change that is rejected because another person has signed in shows that one, and nothing from before', async () => {
  present = sessionOf('globex', 'alice', 7);
  answers['/console/sessions'] = [409, otherSession];
  await expect(change('console_end_other_sessions', {})).rejects.toThrow('another session');
  await vi.waitFor(() => expect(session.value).toEqual(present), 90_000);
  expect(cachedUsers()).toBe(undefined);
});

test('a person who signs in again keeps what was read, under the new session', async () => {
  present = sessionOf('acme', 'alice', 8);
  await readSession();
  expect(cachedUsers()).toEqual(['of acme']);
  await change('console_end_other_sessions', {});
  expect(requests.at(-1)?.shown).toBe('acme/8');
});

test('a change that is forbidden leads to what its person may do now', async () => {
  present = sessionOf('acme', 'alice', 7, { proxy: true });
  answers['/console/sessions'] = [
    403,
    { message: 'This needs the admin flag.', code: 'flag_needed' },
  ];
  await expect(change('console_end_other_sessions', {})).rejects.toThrow('admin flag');
  await vi.waitFor(() => expect(session.value?.user.flags).toEqual({ proxy: true }), 90_000);
});

test('a session that is read while its person signs out stays away', async () => {
  present = sessionOf('acme', 'alice', 7, { proxy: true });
  const reading = readSession();
  setSession(null);
  await reading;
  expect(session.value).toBe(null);
});

test('an answer that says the same leaves the page as it is', async () => {
  present = { ...alice, now: 2 };
  const before = session.value;
  await readSession();
  expect(session.value).toBe(before);
});

test('records are not changed while the contract is suspended, nor from its expiry on', () => {
  const of = (suspended: boolean, expiry: number, writable: boolean) =>
    ({ writable, contract: { suspended, expiry } }) as Session;
  expect(readOnlyReasonOf(of(false, 100, true), 99)).toBe(undefined);
  expect(readOnlyReasonOf(of(false, 100, true), 100)).toMatch(/expired.*[Rr]enew/);
  expect(readOnlyReasonOf(of(false, 100, false), 99)).toMatch(/expired/);
  expect(readOnlyReasonOf(of(true, 100, false), 99)).toMatch(/suspended.*Ask your provider/);
});
