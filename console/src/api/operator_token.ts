// The operator's token: in memory, and for this browser tab alone when the operator wants it kept over a reload.
import { signal } from '@preact/signals';

const key = 'exitward-operator-token';

/** Null: nobody has given one. */
export const operatorToken = signal<string | null>(sessionStorage.getItem(key));

/** Whether the last one was forgotten because it had stopped working. */
export const operatorTokenEnded = signal(false);

/** From now on requests to /admin carry it. `keep`: until the tab is closed, else until it is reloaded. */
export function setOperatorToken(token: string, keep: boolean): void {
  operatorToken.value = token;
  operatorTokenEnded.value = false;
  if (keep) sessionStorage.setItem(key, token);
  else sessionStorage.removeItem(key);
}

/** The operator signs out. */
export function forgetOperatorToken(): void {
  operatorToken.value = null;
  operatorTokenEnded.value = false;
  sessionStorage.removeItem(key);
}

/** The server does not know the token any more. */
export function loseOperatorToken(): void {
  if (operatorToken.value === null) return;
  forgetOperatorToken();
  operatorTokenEnded.value = true;
}
