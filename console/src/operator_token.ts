// The operator's token: in memory, and for this browser tab alone when the operator wants it kept over a reload.
import { signal } from '@preact/signals';

const key = 'exitward-operator-token';

/** Null: nobody has given one. */
export const operatorToken = signal<string | null>(sessionStorage.getItem(key));

/** From now on requests to /admin carry it. `keep`: until the tab is closed, else until it is reloaded. */
export function setOperatorToken(token: string, keep: boolean): void {
  operatorToken.value = token;
  if (keep) sessionStorage.setItem(key, token);
  else sessionStorage.removeItem(key);
}

export function forgetOperatorToken(): void {
  operatorToken.value = null;
  sessionStorage.removeItem(key);
}
