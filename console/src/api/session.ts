// The session of this page, and the audiences that it is served to: account holders, operators, or both.
import { computed, effect, signal } from '@preact/signals';
import { now, setServerTime } from '../now.ts';
import { ApiError, call, callToKeep, type ResponseOf, showSession } from './api.ts';
import { type AsOf, isOutdated } from './news.ts';
import { loseOperatorToken } from './operator_token.ts';

export type Session = ResponseOf<'console_get_session'>;
export type Facts = ResponseOf<'console_get_facts'>;

/** Undefined until the server has said it. */
export const facts = signal<Facts | undefined>(undefined);
/** Undefined until known, null when nobody is signed in. */
export const session = signal<Session | null | undefined>(undefined);
/** Whether the last session was over before its person signed out. */
export const sessionEnded = signal(false);
/** The error that kept `start` from finding out. */
export const startFault = signal<unknown>(undefined);

/** The permissions of whoever is signed in; none without a session. */
export const flags = computed(
  () => session.value?.user.flags ?? { admin: false, billing: false, proxy: false },
);

/** Why the account's records cannot be changed now, in words; undefined when they can. */
export const readOnlyReason = computed(
  () => session.value && readOnlyReasonOf(session.value, now.value),
);

/** The same of a session at a time, which may pass the end of the contract. */
export function readOnlyReasonOf(
  { writable, contract }: Session,
  time: number,
): string | undefined {
  if (contract.suspended) {
    return 'The contract is suspended: nothing is let through, and servers, lists and proxy tokens cannot be changed. Ask your provider to lift the suspension.';
  }
  if (writable && time < contract.expiry) return undefined;
  return 'The contract has expired: nothing is let through, and servers, lists and proxy tokens cannot be changed. Renew it with your provider.';
}

// The cookie is shared by all tabs: the server is told which session this one shows.
effect(() => {
  const shown = session.value;
  showSession(shown ? `${shown.account}/${shown.session_id}` : undefined);
});

const nextStart_milliseconds = 5_000;
let nextStart: ReturnType<typeof setTimeout> | undefined;

/** Asks the server who is signed in; called at the start, and again after its failure. */
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
    // As the page says; the button is only quicker.
    if (error instanceof ApiError && error.status === 0) {
      nextStart = setTimeout(tryStart, nextStart_milliseconds);
    }
  }
}

/**
 * Reads the session anew: something about it may have changed, or the browser has got another one.
 * Errors: ApiError.
 */
export async function readSession(): Promise<void> {
  const before = session.value;
  if (!before) return;
  const found = await findSession();
  // A sign-in or sign-out on this page meanwhile is newer.
  if (session.value !== before) return;
  if (!found) loseSession();
  else if (!isSame(before, found)) session.value = found;
}

/** So that a page is not drawn again because time has passed. */
const isSame = (one: Session, other: Session) =>
  JSON.stringify({ ...one, now: 0 }) === JSON.stringify({ ...other, now: 0 });

/** The same in the background: after a failure there will be another occasion. */
export function readSessionAgain(): void {
  readSession().catch(() => undefined);
}

/** Shows the console of this session from now on; null: its person has signed out. */
export function setSession(value: Session | null): void {
  session.value = value;
  sessionEnded.value = false;
}

/** A sign-in on this page has succeeded. */
export function startSession(started: Session): void {
  setServerTime(started.now);
  setSession(started);
}

/** The server does not know the session any more. */
function loseSession(): void {
  if (!session.value) return;
  session.value = null;
  sessionEnded.value = true;
}

let as_of: AsOf | undefined;

/** The server has told of changes: the session is read anew where they show in it. */
export function hearOfSession(): void {
  if (!as_of || isOutdated('console_get_session', as_of)) readSessionAgain();
}

async function findSession(): Promise<Session | null> {
  try {
    const found = await callToKeep('console_get_session', {});
    as_of = found.as_of;
    setServerTime(found.body.now);
    return found.body;
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) return null;
    throw error;
  }
}

/** Follows what a failure says about the sign-in: that it is over, another one, or may do less. */
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
