// The time, for "in 8 hours": of the server where it told its own, moving while the page is looked at.
import { signal } from '@preact/signals';

const tick_milliseconds = 10_000;
let offset_seconds = 0;

const read = () => Math.floor(Date.now() / 1000) + offset_seconds;

/** Epoch seconds by the server's clock; components that read it are drawn again as it moves. */
export const now = signal(read());

setInterval(() => {
  now.value = read();
}, tick_milliseconds);

/** The server said what time it is: its clock decides when something expires. */
export function setServerTime(time: number): void {
  offset_seconds = time - Math.floor(Date.now() / 1000);
  now.value = read();
}
