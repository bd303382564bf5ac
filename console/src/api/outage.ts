// Whether the server is away, and since when: each response and each event says that it is there.
import { signal } from '@preact/signals';
import { now } from '../now.ts';

/** When it was last heard of, in epoch seconds, if it does not answer now. */
export const awaySince = signal<number | undefined>(undefined);

let heardAt = now.value;

/** The server was heard of. */
export function heard(): void {
  heardAt = now.value;
  awaySince.value = undefined;
}

/** A request has reached nobody, or a proxy alone. */
export function notReached(): void {
  awaySince.value ??= heardAt;
}

/** Whether a proxy in front answers that the server is away; the server's own errors have a code. */
export const isOfProxy = (status: number, code: string) =>
  code === '' && [502, 503, 504].includes(status);
