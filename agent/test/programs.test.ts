// Programs of the node whose files are replaced while they run, as by upgrades of packages; and
// profiles of AppArmor.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { systemClock } from '../src/clock.ts';
import { enforcedProfiles } from '../src/doctor/programs.ts';
import { Programs } from '../src/health/programs.ts';

const dir = mkdtempSync(join(tmpdir(), 'exitward-programs-'));
const children: ChildProcess[] = [];
afterAll(() => {
  for (const child of children) child.kill();
  rmSync(dir, { recursive: true });
});

async function start(name: string, conf: string): Promise<ChildProcess> {
  const program = join(dir, name);
  copyFileSync('/bin/sleep', program);
  const child = spawn(program, ['600'], { env: { CONF: conf } });
  children.push(child);
  await once(child, 'spawn');
  return child;
}

function upgrade(name: string): void {
  copyFileSync('/bin/sleep', join(dir, 'new'));
  renameSync(join(dir, 'new'), join(dir, name));
}

test('a program that runs on after its upgrade is a fault, until it is restarted', async () => {
  const state_dir = join(dir, 'state');
  const programs = new Programs({ state_dir, clock: systemClock });
  const outdated = () => {
    programs.look();
    return programs.faults().map(({ kind, subject }) => [kind, subject]);
  };
  const squid = await start('squid', join(state_dir, 'squid/0/squid.conf'));
  await start('charon-systemd', join(state_dir, 'vpn/strongswan.conf'));
  await start('others-squid', '/etc/squid/squid.conf');
  expect(outdated()).toEqual([]);
  upgrade('squid');
  upgrade('others-squid');
  expect(outdated()).toEqual([['outdated', 'squid']]);
  upgrade('charon-systemd');
  expect(outdated()).toEqual([
    ['outdated', 'charon-systemd'],
    ['outdated', 'squid'],
  ]);
  squid.kill();
  await once(squid, 'exit');
  await start('squid', join(state_dir, 'squid/0/squid.conf'));
  expect(outdated()).toEqual([['outdated', 'charon-systemd']]);
});

test('a profile of AppArmor matters only if it is enforced, and of a program of the agent', () => {
  const programs = ['/usr/sbin/squid', '/usr/sbin/charon-systemd'];
  const list = '/usr/sbin/charon-systemd (complain)\n/usr/bin/man (enforce)\n';
  expect(enforcedProfiles('', programs)).toEqual([]);
  expect(enforcedProfiles(list, programs)).toEqual([]);
  expect(enforcedProfiles(`${list}/usr/sbin/squid (enforce)\n`, programs)).toEqual([programs[0]]);
  // Newer profiles have a short name.
  expect(enforcedProfiles(`${list}charon-systemd (enforce)\n`, programs)).toEqual([programs[1]]);
});
