// A list that is refreshed in place on the terminal until Ctrl-C.
import { setTimeout as sleep } from 'node:timers/promises';
import { visible } from '../visible.ts';

/** The default of `--every`. */
export const defaultRefreshSeconds = 5;

/** By Ctrl-C, by others, and by closing the terminal. */
const exitCodes = { SIGINT: 0, SIGTERM: 143, SIGHUP: 129 };

/**
 * Draws what `render` returns, and again every so many seconds. A failure after the first time is
 * shown above the last list. Errors: those of the first time. A signal ends it, Ctrl-C with 0, and
 * runs `close` before that.
 */
export async function watch(
  render: () => Promise<string>,
  everySeconds: number,
  close: () => Promise<void>,
): Promise<never> {
  for (const [signal, code] of Object.entries(exitCodes)) {
    process.once(signal, () => void close().finally(() => process.exit(code)));
  }
  let text = await render();
  let fault = '';
  let height = 0;
  for (;;) {
    const head = `Refreshed every ${everySeconds} s. Ctrl-C to stop.${fault}`;
    height = draw([head, ...text.trimEnd().split('\n')], height);
    await sleep(everySeconds * 1000);
    try {
      text = await render();
      fault = '';
    } catch (error) {
      fault = ` ${(error as Error).message.split('\n')[0]}`;
    }
  }
}

/** Draws lines over the earlier ones, as many as the terminal has room for. Returns how many. */
function draw(lines: readonly string[], before: number): number {
  const { rows = 24, columns = 80 } = process.stdout;
  const [head = '', ...others] = lines;
  const shown = [visible(head).slice(0, columns), ...others].slice(0, rows - 1);
  const up = before > 0 ? `\x1b[${before}A` : '';
  process.stdout.write(`${up}\r${shown.map((line) => `${line}\x1b[K\n`).join('')}\x1b[J`);
  return shown.length;
}
