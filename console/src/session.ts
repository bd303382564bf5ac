// Who is signed in, and where this page is served: for account holders, for operators, or both.
import { computed, signal } from '@preact/signals';
import type { Answer, Operation } from './api.ts';
import { ApiError, call } from './api.ts';
import { setServerTime } from './now.ts';
import { loseOperatorToken } from './operator_token.ts';

export type Session = Answer<'console_get_session'>;
export type Facts = Answer<'console_get_facts'>;

/** Undefined until the server has said it. */
export const facts = signal<Facts | undefined>(undefined);
/** Undefined until known, null when nobody is signed in. */
export const session = signal<Session | null | undefined>(undefined);
/** Whether the last session was over before its person signed out. */
export const sessionEnded = signal(false);
/** What kept `start` from finding out. */
export const startFault = signal<unknown>(undefined);

/** The permissions of whoever is signed in; none without a session. */
export const flags = computed(
  () => session.value?.user.flags ?? { admin: false, billing: false, proxy: false },
);

/** Asks the server who is signed in; called at the start, and again after its failure. */
export async function start(): Promise<void> {
  startFault.value = undefined;
  try {
    facts.value = await call('console_get_facts', {});
    session.value = facts.value.audiences.account ? await findSession() : null;
  } catch (error) {
    startFault.value = error;
  }
}

/** Reads the session anew, after its person has changed something about it. */
export async function readSession(): Promise<void> {
  const found = await findSession();
  if (found) session.value = found;
  else loseSession();
}

/** Who is signed in from now on; null: they have signed out. */
export function setSession(value: Session | null): void {
  session.value = value;
  sessionEnded.value = false;
}

/** The server does not know the session any more. */
function loseSession(): void {
  if (!session.value) return;
  session.value = null;
  sessionEnded.value = true;
}

async function findSession(): Promise<Session | null> {
  try {
    const found = await call('console_get_session', {});
    setServerTime(found.now);
    return found;
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) return null;
    throw error;
  }
}

/** The server said 401 to this operation: the session, or the operator token, is over. */
export function isSignedOut(operation: Operation): void {
  if (operation.startsWith('admin_')) loseOperatorToken();
  else loseSession();
}
