// The session of this page, and its audiences: account holders, operators, or both.
import { computed, effect, signal } from '@preact/signals';
import { now, setServerTime } from '../now.ts';
import { ApiError, call, callForCache, type ResponseOf, showSession } from './api.ts';
import { type AsOf, isOutdated } from './news.ts';
import { loseOperatorToken } from './operator_token.ts';

export type Session = ResponseOf<'console_get_session'>;
export type Facts = ResponseOf<'console_get_facts'>;

/** Undefined until they are read. */
export const facts = signal<Facts | undefined>(undefined);
/** Undefined until known; null when signed out. */
export const session = signal<Session | null | undefined>(undefined);
/** Whether the last session ended before its user signed out. */
export const sessionEnded = signal(false);
/** The error that made `start` fail. */
export const startFault = signal<unknown>(undefined);

/** The permissions of the user who is signed in; none without a session. */
export const flags = computed(
  () => session.value?.user.flags ?? { admin: false, billing: false, proxy: false },
);

/** The reason why the account's records cannot be changed now; undefined when they can. */
export const readOnlyReason = computed(
  () => session.value && readOnlyReasonOf(session.value, now.value),
);

/** The same for a session at a time, which may be after the end of the contract. */
export function readOnlyReasonOf(
  { writable, contract }: Session,
  time: number,
): string | undefined {
  if (contract.suspended) {
    return 'The contract is suspended: connections are refused, and servers, lists and proxy access tokens can’t be changed. Ask your provider to lift the suspension.';
  }
  if (writable && time < contract.expiry) return undefined;
  return 'The contract has expired: connections are refused, and servers, lists and proxy access tokens can’t be changed. Ask your provider to renew it.';
}

// All tabs share the cookie, so requests name the session that this one shows.
effect(() => {
  const shown = session.value;
  showSession(shown ? `${shown.account}/${shown.session_id}` : undefined);
});

const nextStartMs = 5_000;
let nextStart: ReturnType<typeof setTimeout> | undefined;

/** Reads from the server who is signed in; called at the start, and again after a failure. */
export async function start(): Promise<void> {
  startFault.value = undefined;
  await tryStart();
}

async function tryStart(): Promise<void> {
  clearTimeout(nextStart);
  try {
    facts.value = await call('console_get_facts', {});
    session.value = facts.value.audiences.account ? await findSession() : null;
    startFault.value = undefined;
  } catch (error) {
    startFault.value = error;
    // The page promises this; its button is only quicker.
    if (error instanceof ApiError && error.status === 0) {
      nextStart = setTimeout(tryStart, nextStartMs);
    }
  }
}

/**
 * Reads the session again: it may have changed, or the browser may have a new one.
 * Errors: ApiError.
 */
export async function readSession(): Promise<void> {
  const before = session.value;
  if (!before) return;
  const latest = await findSession();
  // A sign-in or sign-out on this page meanwhile is newer.
  if (session.value !== before) return;
  if (!latest) loseSession();
  else if (!isSame(before, latest)) session.value = latest;
}

/** Ignores the time, so that a page is not drawn again because of it. */
const isSame = (a: Session, b: Session) =>
  JSON.stringify({ ...a, now: 0 }) === JSON.stringify({ ...b, now: 0 });

/** The same in the background; a failure is ignored, since there will be another occasion. */
export function readSessionAgain(): void {
  readSession().catch(() => undefined);
}

/** Shows the console of this session from now on; null: the user has signed out. */
export function setSession(value: Session | null): void {
  session.value = value;
  sessionEnded.value = false;
}

/** Called after a sign-in on this page. */
export function startSession(started: Session): void {
  setServerTime(started.now);
  setSession(started);
}

/** The server does not accept the session any more. */
function loseSession(): void {
  if (!session.value) return;
  session.value = null;
  sessionEnded.value = true;
}

let asOf: AsOf | undefined;

/** Reads the session again if the reported changes affect it. */
export function readSessionIfChanged(): void {
  if (!asOf || isOutdated('console_get_session', asOf)) readSessionAgain();
}

async function findSession(): Promise<Session | null> {
  try {
    const held = await callForCache('console_get_session', {});
    asOf = held.as_of;
    setServerTime(held.body.now);
    return held.body;
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) return null;
    throw error;
  }
}

/** Handles what a failure means for the sign-in: it is over, has changed, or may do less. */
export function handleAuthError(error: unknown): void {
  if (!(error instanceof ApiError)) return;
  const { status, code, isOfOperator } = error;
  if (isOfOperator) {
    if (status === 401) loseOperatorToken();
  } else if (code === 'session_ended') {
    loseSession();
  } else if (code === 'other_session' || status === 403) {
    readSessionAgain();
  }
}
