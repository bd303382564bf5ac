// A list that is drawn anew in its place on the terminal, until Ctrl-C.
import { setTimeout as sleep } from 'node:timers/promises';
import { visible } from '../visible.ts';

/** How often, where nothing else is said. */
export const usual_every_seconds = 5;

/**
 * Draws what `render` makes, and again every so many seconds. A failure after the first time is told
 * above the last list. Errors: those of the first time. It ends by a signal, with 0 for Ctrl-C.
 */
export async function watch(render: () => Promise<string>, every_seconds: number): Promise<never> {
  process.once('SIGINT', () => process.exit(0));
  let text = await render();
  let fault = '';
  let height = 0;
  for (;;) {
    const head = `Every ${every_seconds} s; Ctrl-C ends it.${fault}`;
    height = draw([head, ...text.trimEnd().split('\n')], height);
    await sleep(every_seconds * 1000);
    try {
      text = await render();
      fault = '';
    } catch (error) {
      fault = ` ${(error as Error).message.split('\n')[0]}`;
    }
  }
}

/** Draws over the lines that were drawn before; as many as the terminal has room for. Returns how many those are. */
function draw(lines: readonly string[], before: number): number {
  const { rows = 24, columns = 80 } = process.stdout;
  const [head = '', ...others] = lines;
  const shown = [visible(head).slice(0, columns), ...others].slice(0, rows - 1);
  const up = before > 0 ? `\x1b[${before}A` : '';
  process.stdout.write(`${up}\r${shown.map((line) => `${line}\x1b[K\n`).join('')}\x1b[J`);
  return shown.length;
}
