// Whether the server is offline, and since when: each response and event shows that it is online.
import { signal } from '@preact/signals';
import { now } from '../now.ts';

/** When the last response came, in epoch seconds; undefined while the server is online. */
export const offlineSince = signal<number | undefined>(undefined);

let reachedAt = now.value;

/** Called for each response of the server. */
export function markReached(): void {
  reachedAt = now.value;
  offlineSince.value = undefined;
}

/** Called when a request did not reach the server, or only a proxy. */
export function markUnreached(): void {
  offlineSince.value ??= reachedAt;
}

/** Whether a proxy in front reports the server as offline; the server's own errors have a code. */
export const isOfProxy = (status: number, code: string) =>
  code === '' && [502, 503, 504].includes(status);
