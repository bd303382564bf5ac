// Remedies name the files and commands of the installation whose program prints them.
import { expect, test } from 'vitest';
import { installationOf } from '../src/installation.ts';

const service = {
  name: 'exitward',
  settings: '/etc/exitward/exitward.env',
  command: 'exitward serve',
};

test('remedies of a Debian service name its file of settings and systemctl', () => {
  const { withSetting, ...words } = installationOf('/usr/lib/exitward/server', service, true);
  expect(words).toEqual({
    isService: true,
    settings: '/etc/exitward/exitward.env, or the environment',
    start: 'systemctl enable --now exitward',
    restart: 'systemctl restart exitward',
  });
  expect(withSetting('A=1')).toBe(
    'A=1 in /etc/exitward/exitward.env, then: systemctl restart exitward',
  );
});

test.each([
  ['a checkout', '/home/you/exitward/server', true],
  ['another package whose name begins alike', '/usr/lib/exitward-agent/agent', true],
  ['a package without systemd, as in a container', '/usr/lib/exitward/server', false],
])('remedies of %s name the environment and the command', (_what, folder, isBooted) => {
  const { withSetting, ...words } = installationOf(folder, service, isBooted);
  expect(words).toEqual({
    isService: false,
    settings: 'the environment',
    start: 'exitward serve',
    restart: 'stop "exitward serve", then: exitward serve',
  });
  expect(withSetting('A=1')).toBe('stop "exitward serve", then: A=1 exitward serve');
});
