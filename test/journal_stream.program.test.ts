// The log under systemd: each line bears its priority for the journal there, and nowhere else.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, fstatSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import * as agentLog from '../kit/src/log.ts';
import * as serverLog from '../kit/src/log.ts';
import { ServerProcess } from '../server/test/server_process.ts';
import { bareEnvironment } from './bare_environment.ts';
import { deepTest } from './deep_test.ts';

const bins = {
  server: fileURLToPath(new URL('../server/bin/exitward.js', import.meta.url)),
  agent: fileURLToPath(new URL('../agent/bin/exitward-agent.js', import.meta.url)),
};

/** A folder, and a file in it whose descriptor stands for the journal's stream. */
function stream() {
  const folder = mkdtempSync(join(tmpdir(), 'exitward-journal-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, 'stream');
  const fd = openSync(path, 'a');
  onTestFinished(() => closeSync(fd));
  const { dev, ino } = fstatSync(fd, { bigint: true });
  return { folder, fd, name: `${dev}:${ino}`, read: () => readFileSync(path, 'utf8') };
}

function run(program: keyof typeof bins, args: string[], env: Record<string, string>, fd: number) {
  const child = spawn(process.execPath, [bins[program], ...args], {
    env: { ...bareEnvironment, ...env },
    stdio: ['ignore', fd, fd],
  });
  const ended = once(child, 'close');
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  return { child, ended };
}

test.each([
  ['the server', serverLog],
  ['the agent', agentLog],
])('the levels of %s are priorities of syslog', (_, { journalLine }) => {
  const levels = [10, 20, 30, 40, 50, 60];
  expect(levels.map((level) => journalLine(level, '{}\n'))).toEqual(
    ['<7>', '<7>', '<6>', '<4>', '<3>', '<2>'].map((priority) => `${priority}{}\n`),
  );
});

test('each line of a server under systemd is JSON behind the priority of its level', async () => {
  const { folder, fd, name, read } = stream();
  const settings = ServerProcess.settings({ EXITWARD_DATA_DIR: folder, JOURNAL_STREAM: name });
  const env = { ...settings, EXITWARD_GEOIP: '' } as Record<string, string>;
  const { child, ended } = run('server', ['serve'], env, fd);
  await expect.poll(read).toContain('Exitward is listening');
  const lines = read()
    .split('\n')
    .filter((line) => line.includes('"level"'));
  for (const line of lines) {
    const [, priority, json = ''] = /^<(\d)>(\{.*\})$/.exec(line) ?? [];
    expect([line, Number(priority)]).toEqual([
      line,
      { 20: 7, 30: 6, 40: 4, 50: 3 }[JSON.parse(json).level as number],
    ]);
  }
  expect(lines.some((line) => line.startsWith('<6>'))).toBe(true);
  child.kill('SIGTERM');
  expect((await ended)[0]).toBe(0);
});

deepTest(
  'the reason why a program does not start is an error in the journal, each of its lines',
  async () => {
    const { fd, name, read } = stream();
    const faulty = { EXITWARD_LISTEN: 'x', EXITWARD_CACHE_BYTES: '1k', JOURNAL_STREAM: name };
    expect((await run('server', ['serve'], faulty, fd).ended)[0]).toBe(1);
    expect(read()).toMatch(/^<3>EXITWARD_LISTEN: .*\n<3>EXITWARD_CACHE_BYTES: .*\n$/);

    const other = stream();
    const absent = {
      EXITWARD_AGENT_STATE_DIR: join(other.folder, 'none'),
      JOURNAL_STREAM: other.name,
    };
    expect((await run('agent', ['run'], absent, other.fd).ended)[0]).toBe(1);
    expect(other.read()).toMatch(
      /^<3>exitward-agent: This machine has not joined a network: .*\n$/,
    );
  },
);

deepTest('where the stream is another one the lines are as anywhere', async () => {
  const { fd, read } = stream();
  const { name } = stream();
  const faulty = { EXITWARD_LISTEN: 'x', JOURNAL_STREAM: name };
  expect((await run('server', ['serve'], faulty, fd).ended)[0]).toBe(1);
  expect(read()).toMatch(/^EXITWARD_LISTEN: /);
});
