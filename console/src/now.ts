// The current time, for "in 8 hours": the server's if known, updated while the page is visible.
import { signal } from '@preact/signals';

const tick_milliseconds = 10_000;
let offset_seconds = 0;

const read = () => Math.floor(Date.now() / 1000) + offset_seconds;

/** Epoch seconds by the server's clock; components that read it are drawn again when it changes. */
export const now = signal(read());

setInterval(() => {
  now.value = read();
}, tick_milliseconds);

/** Sets the time from a response: the server's clock decides when something expires. */
export function setServerTime(time: number): void {
  offset_seconds = time - Math.floor(Date.now() / 1000);
  now.value = read();
}
