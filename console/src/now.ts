// The current time, for "in 8 hours": the server's if known, updated while the page is visible.
import { signal } from '@preact/signals';

const tickMs = 10_000;
let offsetSeconds = 0;

const read = () => Math.floor(Date.now() / 1000) + offsetSeconds;

/** Epoch seconds by the server's clock; components that read it are drawn again when it changes. */
export const now = signal(read());

setInterval(() => {
  now.value = read();
}, tickMs);

/** Sets the time from a response: the server's clock decides when something expires. */
export function setServerTime(time: number): void {
  offsetSeconds = time - Math.floor(Date.now() / 1000);
  now.value = read();
}
