// `npm run demo:vpn` as a newcomer sees it: a tunnel from its login to its end, and nothing left of
// it, however it ends.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';

const root = join(import.meta.dirname, '..');
/** Its folder for temporary files: no other program has files there, and its processes show it. */
let folder: string;
let demo: ChildProcess | undefined;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'exitward-demo-test-'));
});
afterEach(() => {
  demo?.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

/**
 * Starts it; resolves with the code and all that it printed when it ended, or has printed `word`.
 */
async function run(enter: string[] = [], word?: string) {
  const [program = '', ...words] = [...enter, process.execPath, 'demo/vpn.ts'];
  const env = { PATH: process.env.PATH, TMPDIR: folder };
  demo = spawn(program, words, { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  const ended = once(demo, 'close');
  const reached = new Promise<void>((resolve) => {
    for (const output of [demo?.stdout, demo?.stderr])
      output?.on('data', (text) => {
        said += text;
        if (word && said.includes(word)) resolve();
      });
  });
  await Promise.race([ended, reached]);
  return { ended, code: demo.exitCode, text: () => said };
}

/** All that a demo leaves behind: namespaces, files, and processes that have to do with them. */
function leftOf(pid: number | undefined): string[] {
  const netns = execFileSync('ip', ['netns', 'list'], { encoding: 'utf8' });
  const namespaces = netns.split('\n').filter((line) => line.startsWith(`exitward-demo-${pid}-`));
  const processes = readdirSync('/proc').filter((pid) => {
    if (!/^\d+$/.test(pid) || Number(pid) === process.pid) return false;
    try {
      const facts = ['cmdline', 'environ'].map((name) => readFileSync(`/proc/${pid}/${name}`));
      return facts.some((text) => text.includes(folder));
    } catch {
      return false;
    }
  });
  return [...namespaces, ...readdirSync(folder), ...processes.map((pid) => `process ${pid}`)];
}

test('a tunnel leaves from the exit, is billed, and is dead when the token version rises; nothing is left', async () => {
  const { code, text } = await run();
  const said = text();
  expect(said).toContain('The tunnel is up.');
  expect(said).toMatch(/address inside is 100\.(8\d|9[0-5])\.\d+\.\d+\.$/m);
  expect(said).toContain('The origin sees 203.0.113.1, the exit.');
  const [, sent, billed] = /It sends (\d+) bytes\..* bills acme (\d+)/.exec(said) ?? [];
  expect(Number(sent)).toBe(1_000_000);
  // Both directions with their headers.
  expect(Number(billed)).toBeGreaterThan(1_000_000);
  expect(Number(billed)).toBeLessThan(1_500_000);
  const [, milliseconds] = /dead (\d+) ms after/.exec(said) ?? [];
  expect(Number(milliseconds)).toBeLessThan(5000);
  expect(said).toContain('the tunnel of alice is closed.');
  expect(said).toContain('A new login by the same profile is refused.');
  expect(code).toBe(0);
  expect(leftOf(demo?.pid)).toEqual([]);
});

test.each(['swanctl --load-all', 'A machine becomes its node', 'Three machines'])(
  'Ctrl-C after "%s" leaves nothing',
  async (word) => {
    const { ended, text } = await run([], word);
    expect(leftOf(demo?.pid)).not.toEqual([]);
    demo?.kill('SIGINT');
    expect(await ended).toEqual([1, null]);
    expect(text()).toContain('did not come to its end: it was ended by SIGINT.');
    expect(leftOf(demo?.pid)).toEqual([]);
  },
);

test('a program that dies in the middle ends it with a sentence, and nothing is left', async () => {
  const { ended, text } = await run([], 'The tunnel is up');
  const node = `exitward-demo-${demo?.pid}-beyond`;
  const pids = execFileSync('ip', ['netns', 'pids', node], { encoding: 'utf8' });
  for (const pid of pids.split('\n').filter(Boolean)) process.kill(Number(pid), 'SIGKILL');
  expect(await ended).toEqual([1, null]);
  expect(text()).toMatch(/^The demo of the VPN did not come to its end: .*fetch failed/ms);
  expect(leftOf(demo?.pid)).toEqual([]);
});

test('without root it says what it needs, in one sentence, and changes nothing', async () => {
  const { code, text } = await run(['setpriv', '--reuid=65534', '--clear-groups']);
  expect(text()).toBe('The demo of the VPN needs root (sudo npm run demo:vpn).\n');
  expect(code).toBe(1);
  expect(leftOf(demo?.pid)).toEqual([]);
});
