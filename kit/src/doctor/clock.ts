// The clock of this machine, as its system sees it: both doctors look at it.
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { promisify } from 'node:util';
import { type Outcome, ok, warning } from './check.ts';

const run = promisify(execFile);

/** Exists when systemd-timesyncd has set the clock. */
const synchronizedFile = '/run/systemd/timesync/synchronized';

/** The programs of Debian that set the clock, and their services. */
const services = {
  '/usr/lib/systemd/systemd-timesyncd': 'systemd-timesyncd',
  '/usr/sbin/chronyd': 'chrony',
  '/usr/sbin/ntpd': 'ntpsec',
};

/** The command that has the clock set: by the service that is installed, else by a new one. */
export function clockRemedy(isInstalled: (program: string) => boolean = existsSync): string {
  const [, service] = Object.entries(services).find(([program]) => isInstalled(program)) ?? [];
  return service === undefined
    ? 'apt-get install systemd-timesyncd'
    : `systemctl enable --now ${service}; where that is not enough, systemctl status ${service}`;
}

/** Whether the system keeps the clock right. `judged`: what is judged by it, for people. */
export async function lookAtClock(judged: string): Promise<Outcome> {
  const answer = await run('timedatectl', ['show', '--property=NTPSynchronized', '--value'])
    .then(({ stdout }) => stdout.trim())
    .catch(() => '');
  if (answer === 'yes' || existsSync(synchronizedFile)) {
    return ok('The clock is synchronised, as the system says.');
  }
  const sentence =
    answer === 'no'
      ? 'The system says that the clock is not synchronised'
      : 'Nothing says whether the clock is right';
  return warning(`${sentence}: ${judged} are judged by it.`, clockRemedy());
}
