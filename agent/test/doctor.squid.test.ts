// The doctor where it takes root to make the fault: a small disk, one in memory, rights that are taken away.
import { execFile, execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Report } from '../src/doctor/doctor.ts';

const bin = fileURLToPath(new URL('../bin/exitward-agent.js', import.meta.url));
let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'exitward-doctor-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The findings of one check, of a doctor that is started by this command. */
function doctor(name: string, state_dir: string, by: string[] = []) {
  const [program = '', ...args] = [...by, process.execPath, bin, 'doctor', '--outbound', 'none'];
  const env = { PATH: process.env.PATH, EXITWARD_AGENT_STATE_DIR: state_dir };
  return new Promise<Report['findings']>((resolve) => {
    execFile(program, [...args, '--json'], { env }, (_, stdout) => {
      const { findings } = JSON.parse(stdout) as Report;
      resolve(findings.filter((one) => one.name === name));
    });
  });
}

async function onDisk(size: string) {
  const disk = join(folder, size);
  mkdirSync(disk);
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'small', disk]);
  try {
    const found = await doctor('disk_space', disk);
    expect(readdirSync(disk)).toEqual([]);
    return found;
  } finally {
    execFileSync('umount', [disk]);
  }
}

test('a disk that is nearly full is a fault, and one that is in memory a warning', async () => {
  expect(await onDisk('8m')).toMatchObject([
    { state: 'fault', sentence: expect.stringContaining('has 8 MiB free') },
  ]);
  expect(await onDisk('4g')).toMatchObject([
    { state: 'warning', sentence: expect.stringContaining('in memory') },
  ]);
});

test('with all rights of root there is no fault; each that is missing is named', async () => {
  const without = (...names: string[]) => [
    'setpriv',
    ...names.map((name) => `--bounding-set=-${name}`),
    ...names.map((name) => `--inh-caps=-${name}`),
  ];
  expect(await doctor('rights', folder)).toMatchObject([{ state: 'ok' }]);
  expect(await doctor('rights', folder, without('net_admin'))).toMatchObject([
    { state: 'fault', sentence: expect.stringContaining('CAP_NET_ADMIN') },
  ]);
  expect(await doctor('rights', folder, without('sys_ptrace'))).toMatchObject([
    { state: 'warning', sentence: expect.stringContaining('CAP_SYS_PTRACE') },
  ]);
});
