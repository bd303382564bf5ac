// The operator's token: in memory or, if the operator selects that, in this tab until it is closed.
import { signal } from '@preact/signals';
import { inTab } from '../stored.ts';

const key = 'exitward-operator-token';

/** Null: none was given. */
export const operatorToken = signal<string | null>(inTab.get(key));

/** Whether the last one was forgotten because it stopped working. */
export const operatorTokenEnded = signal(false);

/**
 * Requests to /admin use it from now on. `keep`: until the tab is closed, not only until a reload.
 */
export function setOperatorToken(token: string, keep: boolean): void {
  operatorToken.value = token;
  operatorTokenEnded.value = false;
  if (keep) inTab.set(key, token);
  else inTab.remove(key);
}

/** The operator signs out. */
export function forgetOperatorToken(): void {
  operatorToken.value = null;
  operatorTokenEnded.value = false;
  inTab.remove(key);
}

/** The server does not accept the token any more. */
export function loseOperatorToken(): void {
  if (operatorToken.value === null) return;
  forgetOperatorToken();
  operatorTokenEnded.value = true;
}
