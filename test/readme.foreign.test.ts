// The commands of README.md, run in its order against the demo of `npm start`, print what it shows.
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Demo, freeBase, listenersOf } from './demo_process.ts';

const run = promisify(execFile);
const root = join(import.meta.dirname, '..');
const dataDir = mkdtempSync(join(tmpdir(), 'exitward-readme-'));

/** The commands of the README with the lines that it shows below each; none where it shows none. */
const commands = [
  ...readFileSync(join(root, 'README.md'), 'utf8').matchAll(/^```console\n([\s\S]*?)^```$/gm),
].flatMap(([, block = '']) =>
  block
    .split(/^\$ /m)
    .slice(1)
    .map((text) => {
      const [, command = '', shown = ''] = /^((?:.*\\\n)*.*\n)([\s\S]*)$/.exec(text) ?? [];
      return { command: command.trim(), shown: shown.trim() };
    }),
);

let base: number;
let demo: Demo;
beforeAll(async () => {
  base = await freeBase();
  demo = new Demo(dataDir, String(base), listenersOf(base));
  await demo.ready();
});
afterAll(async () => {
  await demo?.stop();
  rmSync(dataDir, { recursive: true, force: true });
});

/** The text with the ports and the folder of this demo. */
function here(text: string): string {
  const [listener] = listenersOf(base);
  return text
    .replaceAll('127.0.0.1:8080', listener)
    .replace(/\b11(\d)(\d\d)\b/g, (_, hundreds, rest) => String(base + Number(hundreds + rest)))
    .replaceAll('./data/', `${dataDir}/`);
}

/** The text without what differs from one run to the next. */
const shapeOf = (text: string) =>
  text
    .replace(/ewt_[\w.…-]+/g, 'TOKEN')
    .replace(/("(?:start|end|usage|expiry|id)"):\d+/g, '$1:N')
    .trim();

/** Settings with which the command line reaches this demo. */
const environment = () => ({
  ...process.env,
  EXITWARD_DATA_DIR: dataDir,
  EXITWARD_ADMIN_URL: `http://${listenersOf(base)[1]}`,
  PATH: `${join(root, 'node_modules/.bin')}:${process.env.PATH}`,
});

/** A machine without the internet has no name server, either: as if the name did not exist. */
const asResolved = (text: string) =>
  text.includes('(no_name_server)')
    ? 'Exitward: the name of the destination could not be resolved (unresolved).'
    : text;

async function answerTo(command: string, variables: string): Promise<string> {
  const { stdout } = await run('sh', ['-c', `${variables}\n${command}`], {
    cwd: root,
    env: environment(),
  });
  return stdout;
}

test('each command of README.md prints what README.md shows', { timeout: 200_000 }, async () => {
  expect(commands.length).toBeGreaterThan(10);
  let variables = '';
  let token = '';
  for (const { command, shown } of commands) {
    const line = here(command).replaceAll('curl ', 'curl --silent ').replace('ewt_WzEs…', token);
    if (line.startsWith('TOKEN=')) {
      variables = line;
      continue;
    }
    const isTable = shown.startsWith('NAME ');
    // A node applies a change within milliseconds; a busy machine takes longer.
    await expect
      .poll(
        async () => {
          const printed = await answerTo(line, variables);
          token = /ewt_[\w.-]+/.exec(printed)?.[0] ?? token;
          // Off a terminal a table has no heads, and its sizes are bytes.
          return isTable || shown === '' ? 'printed' : shapeOf(asResolved(printed));
        },
        { timeout: 30_000, interval: 500 },
      )
      .toBe(isTable || shown === '' ? 'printed' : shapeOf(here(shown)));
  }
});
